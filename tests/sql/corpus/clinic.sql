-- Left joins with services in which people may have no row, anti-joins, and averages per person.
SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE plan IS NULL) AS a FROM patients LEFT JOIN insurance USING (pid)
SELECT COUNT(*) FILTER (WHERE plan = 'gold') AS g, COUNT(*) FILTER (WHERE plan IS NULL) AS a FROM patients LEFT JOIN insurance USING (pid)
SELECT COUNT(*) FILTER (WHERE plan = 'gold') AS g, COUNT(*) FILTER (WHERE plan = 'basic') AS a FROM patients LEFT JOIN insurance USING (pid)
SELECT COUNT(*) FILTER (WHERE plan = 'gold') AS g, COUNT(*) FILTER (WHERE premium = 3) AS a FROM patients LEFT JOIN insurance USING (pid)
SELECT COUNT(*) FILTER (WHERE plan = 'gold') AS g, COUNT(*) AS a FROM insurance
SELECT COUNT(*) FILTER (WHERE cost = 3) AS g, COUNT(DISTINCT pid) AS a FROM visits
SELECT COUNT(*) FILTER (WHERE cost = 3) AS g, COUNT(*) AS a FROM visits
SELECT plan, ward, COUNT(*) AS n, AVG(cost) AS c FROM patients p LEFT JOIN insurance i ON p.pid=i.pid LEFT JOIN visits v ON v.pid=p.pid GROUP BY plan, ward
SELECT COUNT(*) AS n, COUNT(v.pid) AS m, COUNT(DISTINCT v.pid) AS d, COUNT(DISTINCT p.pid) AS e FROM patients p LEFT JOIN visits v ON v.pid=p.pid
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.pid IS NULL
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.pid IS NOT NULL AND age > 40
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.ward IS NULL AND smoker
SELECT city, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a FROM patients p LEFT JOIN visits v ON v.pid=p.pid GROUP BY city
SELECT city, SUM(COALESCE(cost, 0)) AS s, AVG(COALESCE(cost, 0)) AS a FROM patients p LEFT JOIN visits v ON v.pid=p.pid GROUP BY city
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.cost > p.age
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE NOT (v.cost > p.age)
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE (v.cost > p.age) IS NULL
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.cost IS NOT DISTINCT FROM p.age
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE v.ward <> 'ER' OR v.ward IS NULL
SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON v.pid=p.pid WHERE COALESCE(v.ward, '-') <> 'ER'
SELECT COUNT(*) AS n FROM patients p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.pid = p.pid)
SELECT COUNT(*) AS n FROM patients p WHERE EXISTS (SELECT * FROM visits v WHERE v.pid = p.pid) AND age < 50
SELECT COUNT(*) AS n FROM patients p WHERE pid IN (SELECT pid FROM visits)
SELECT city, AVG(age) AS n FROM patients p WHERE pid IN (SELECT pid FROM visits) GROUP BY city
SELECT blood, COUNT(*) AS n, COUNT(DISTINCT pid) AS m FROM patients p WHERE pid IN (SELECT pid FROM visits) GROUP BY blood
SELECT COUNT(*) AS n FROM patients p WHERE pid NOT IN (SELECT pid FROM visits) AND pid IN (SELECT pid FROM insurance WHERE plan = 'gold')
SELECT COUNT(*) AS n FROM patients p WHERE pid NOT IN (SELECT pid FROM insurance WHERE plan = 'gold' AND premium > 5)
SELECT AVG(cost) AS n FROM visits v WHERE v.pid NOT IN (SELECT pid FROM patients WHERE smoker)
SELECT COUNT(*) AS n FROM visits v WHERE NOT EXISTS (SELECT 1 FROM insurance i WHERE i.pid = v.pid)
SELECT plan, COUNT(*) AS n FROM visits LEFT JOIN insurance USING (pid) GROUP BY plan
SELECT plan, AVG(cost) AS n, MEDIAN(cost) AS m FROM visits LEFT JOIN insurance USING (pid) GROUP BY plan
SELECT COUNT(*) AS n FROM insurance RIGHT JOIN patients USING (pid) WHERE plan IS NULL
SELECT plan IS NULL AS uninsured, AVG(age) AS a FROM patients LEFT JOIN insurance USING (pid) GROUP BY uninsured
SELECT MEDIAN(premium) AS a, STDDEV(premium) AS s FROM patients LEFT JOIN insurance USING (pid)
SELECT CASE WHEN plan = 'gold' THEN 'g' WHEN plan IS NULL THEN '-' ELSE 'b' END AS c, COUNT(*) AS n FROM patients LEFT JOIN insurance USING (pid) GROUP BY c
SELECT premium // 5 AS band, COUNT(*) AS n FROM patients LEFT JOIN insurance USING (pid) GROUP BY band
SELECT plan, blood, COUNT(*) AS n FROM patients LEFT JOIN insurance USING (pid) WHERE blood IS NOT NULL GROUP BY plan, blood
SELECT COUNT(*) AS n FROM patients p JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU'
!unsupported-join SELECT COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU'
SELECT COUNT(*) AS n FROM patients p LEFT JOIN insurance i ON p.pid = i.pid AND i.plan = 'gold' WHERE i.pid IS NULL
SELECT COUNT(*) AS n FROM patients p LEFT OUTER JOIN insurance i USING (pid) WHERE i.plan = 'gold' OR p.age > 50
SELECT CORR(premium, age) AS n FROM patients p LEFT OUTER JOIN insurance i USING (pid)
SELECT COUNT(*) AS n FROM insurance LEFT JOIN visits USING (pid)
SELECT COUNT(*) AS n FROM insurance LEFT JOIN visits USING (pid) WHERE ward IS NULL
SELECT COUNT(*) AS n FROM insurance LEFT JOIN patients USING (pid) LEFT JOIN visits USING (pid) WHERE ward IS NULL AND plan = 'gold'
SELECT COUNT(*) AS n FROM patients LEFT JOIN insurance USING (pid) JOIN visits USING (pid)
SELECT SUM(premium) AS n FROM patients LEFT JOIN insurance USING (pid) JOIN visits USING (pid)
SELECT COUNT(*) AS n FROM (SELECT * FROM patients LEFT JOIN insurance USING (pid)) t WHERE plan IS NULL
!unsupported-join SELECT v.ward, COUNT(*) AS n FROM visits v WHERE v.pid IN (SELECT pid FROM visits) GROUP BY ward
SELECT COUNT(*) AS n FROM patients a LEFT JOIN patients b USING (pid)
!unsupported-join SELECT COUNT(*) AS n FROM visits a LEFT JOIN visits b USING (pid)
SELECT AVG(k) AS m FROM (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid)
SELECT AVG(s) AS m, SUM(s) AS t, COUNT(*) AS n FROM (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) x
WITH per AS (SELECT pid, SUM(cost) AS s, COUNT(*) AS k FROM visits GROUP BY pid) SELECT AVG(s) AS m, AVG(k) AS n, SUM(s) / SUM(k) AS r FROM per
WITH per AS (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) SELECT city, AVG(s) AS m, COUNT(*) AS n FROM patients JOIN per USING (pid) GROUP BY city
WITH per AS (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) SELECT city, AVG(per.s) AS m FROM patients p JOIN per ON per.pid = p.pid WHERE p.age > 30 GROUP BY city
WITH per AS (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) SELECT city, AVG(s) AS m, AVG(COALESCE(s, 0)) AS z, COUNT(*) AS n, COUNT(s) AS k FROM patients LEFT JOIN per USING (pid) GROUP BY city
SELECT p.blood, AVG(COALESCE(v.k, 0)) AS m FROM patients p LEFT JOIN (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid) v ON v.pid = p.pid GROUP BY p.blood
!unsupported-subquery SELECT p.blood, SUM(v.k) AS m FROM patients p LEFT JOIN (SELECT pid, COUNT(*) AS k FROM visits WHERE ward = 'ICU' GROUP BY pid) v ON v.pid = p.pid GROUP BY p.blood
!count-distinct SELECT p.blood, AVG(v.k) AS m FROM patients p JOIN (SELECT pid, COUNT(*) AS k FROM visits WHERE ward = 'ICU' GROUP BY pid) v ON v.pid = p.pid GROUP BY p.blood
!unsupported-subquery SELECT AVG(n) AS m FROM (SELECT blood, COUNT(*) AS n FROM patients GROUP BY blood)
SELECT SUM(n) AS m FROM (SELECT blood, COUNT(*) AS n FROM patients GROUP BY blood)
!unsupported-subquery SELECT COUNT(*) AS m FROM (SELECT blood, COUNT(*) AS n FROM patients GROUP BY blood)
SELECT COUNT(*) AS m FROM (SELECT pid FROM visits GROUP BY pid)
!unsupported-subquery SELECT COUNT(*) AS m FROM (SELECT DISTINCT pid FROM visits)
!unsupported-subquery SELECT MAX(k) AS m FROM (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid)
!unsupported-subquery SELECT AVG(k) AS m FROM (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid) WHERE k > 2
!unsupported-subquery SELECT k, COUNT(*) AS m FROM (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid) GROUP BY k
!unsupported-subquery SELECT STDDEV(k) AS m FROM (SELECT pid, COUNT(*) AS k FROM visits GROUP BY pid)
!unsupported-subquery SELECT plan, AVG(s) AS m, AVG(age) AS a FROM insurance JOIN (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) v USING (pid) JOIN patients USING (pid) GROUP BY plan
SELECT plan, AVG(s) AS m FROM insurance JOIN (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) v USING (pid) JOIN patients USING (pid) WHERE smoker GROUP BY plan
!unsupported-subquery SELECT AVG(s) AS m FROM visits JOIN (SELECT pid, SUM(premium) AS s FROM insurance GROUP BY pid) v USING (pid)
SELECT SUM(s) AS m FROM visits JOIN (SELECT pid, SUM(premium) AS s FROM insurance GROUP BY pid) v USING (pid)
SELECT COUNT(*) AS n FROM insurance RIGHT JOIN patients USING (pid) WHERE plan IS DISTINCT FROM 'gold'
SELECT COUNT(*) AS n FROM insurance RIGHT JOIN patients USING (pid) WHERE (plan = 'gold') IS NOT TRUE
SELECT COUNT(*) AS n FROM visits RIGHT JOIN patients USING (pid) WHERE (ward = 'ICU') IS NOT TRUE
SELECT COUNT(*) AS n FROM visits RIGHT JOIN patients USING (pid) WHERE (ward = 'ICU' AND cost > 10) IS NOT TRUE
SELECT COUNT(*) AS n FROM visits RIGHT JOIN insurance USING (pid) WHERE (ward = 'ICU' AND cost > 10) IS NOT TRUE OR plan = 'gold'
SELECT plan, ward, COUNT(*) AS n FROM visits RIGHT JOIN patients USING (pid) LEFT JOIN insurance USING (pid) GROUP BY plan, ward
SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits RIGHT JOIN patients USING (pid)
SELECT SUM(CASE WHEN plan = 'gold' THEN 0 ELSE 1 END) AS n FROM insurance RIGHT JOIN patients USING (pid)
!unsupported-subquery SELECT COUNT(*) AS n FROM patients WHERE pid NOT IN (SELECT pid FROM visits WHERE ward = 'ICU')
SELECT COUNT(*) AS n FROM patients FULL JOIN insurance USING (pid)
!key-column SELECT COUNT(*) AS n FROM patients p LEFT JOIN insurance i USING (pid) WHERE i.pid > 7
SELECT COUNT(*) AS n, AVG(cost) AS c FROM patients p JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU' AND p.age > 30
!unsupported-join SELECT COUNT(*) AS n FROM patients p LEFT JOIN insurance i ON i.pid = p.pid LEFT JOIN visits v ON v.pid = i.pid
!unsupported-join SELECT COUNT(*) AS n FROM insurance JOIN visits USING (pid) RIGHT JOIN patients USING (pid)
SELECT COUNT(*) AS n FROM insurance i RIGHT JOIN patients p ON i.pid = p.pid JOIN visits v ON v.pid = p.pid WHERE i.plan IS NULL
SELECT smoker, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY smoker ORDER BY smoker
SELECT smoker, plan, COUNT(*) AS n FROM patients LEFT JOIN insurance USING (pid) GROUP BY ALL
SELECT UPPER(city) AS c, COUNT(*) AS n FROM patients GROUP BY c
SELECT blood || '-' || city AS g, COUNT(*) AS n FROM patients GROUP BY g
SELECT city, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM patients GROUP BY city
SELECT city, COUNT(*) FILTER (WHERE smoker) AS s, COUNT(*) FILTER (WHERE smoker) / SUM(COUNT(*)) OVER () AS share FROM patients GROUP BY city
WITH a AS (SELECT city, COUNT(*) AS n FROM patients GROUP BY city) SELECT city, n / SUM(n) OVER () AS share FROM a
SELECT city, blood, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY city) AS share FROM patients GROUP BY city, blood
SELECT city, smoker, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY smoker) AS share FROM patients WHERE age > 30 GROUP BY city, smoker
SELECT LENGTH(city) AS l, AVG(age) AS a FROM patients GROUP BY l
SELECT COUNT(*) AS n FROM patients WHERE LOWER(city) = 'oslo' AND smoker
SELECT COUNT(*) AS n FROM patients WHERE LENGTH(city) + age > 30
SELECT AVG(LENGTH(city) * age) AS a FROM patients
SELECT CASE WHEN LOWER(city) = 'oslo' THEN 'home' ELSE 'away' END AS w, COUNT(*) AS n FROM patients GROUP BY w
SELECT COUNT(*) AS n FROM patients WHERE city || blood = 'OsloA'
SELECT COUNT(*) AS n FROM patients WHERE SUBSTR(city, 1, 1) IN ('O', 'L') OR age > 70
SELECT COUNT(*) AS n FROM patients WHERE city IN ('Oslo', 'Rome') AND NOT (UPPER(city) = 'ROME')
SELECT city, SUM(COUNT(*)) OVER (ORDER BY city) AS run FROM patients GROUP BY city
SELECT city, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM patients GROUP BY city
SELECT city, SUM(age) / SUM(SUM(age)) OVER () AS share FROM patients GROUP BY city ORDER BY share DESC
SELECT city, ward, SUM(cost) / SUM(SUM(cost)) OVER (PARTITION BY city) AS share FROM patients JOIN visits USING (pid) GROUP BY city, ward
SELECT age // 10 AS dec, 100.0 * (COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY age // 10)) / LAG(COUNT(*)) OVER (ORDER BY age // 10) AS growth FROM patients WHERE age < 60 GROUP BY dec
SELECT city, LAG(COUNT(*)) OVER (ORDER BY city) AS p FROM patients GROUP BY city
SELECT COUNT(*) AS n FROM patients LEFT JOIN (SELECT * FROM insurance WHERE plan = 'gold') g USING (pid)
!unsupported-subquery WITH g AS (SELECT pid, SUM(premium) AS s FROM insurance WHERE plan = 'gold' GROUP BY pid) SELECT AVG(COALESCE(s, 0)) AS a, COUNT(*) AS n FROM patients LEFT JOIN g USING (pid)
!unsupported-subquery SELECT COUNT(*) AS n FROM (SELECT * FROM insurance WHERE plan = 'gold') g RIGHT JOIN patients USING (pid)
SELECT COUNT(*) AS n FROM (SELECT * FROM patients WHERE age > 40) p LEFT JOIN insurance USING (pid) WHERE plan IS NULL
SELECT COUNT(*) AS n FROM patients LEFT JOIN (SELECT * FROM insurance) g USING (pid) WHERE plan = 'gold'
SELECT smoker, COUNT(*) AS n FROM patients GROUP BY smoker HAVING smoker
SELECT smoker, COUNT(*) AS n FROM patients GROUP BY smoker HAVING NOT smoker AND COUNT(*) > 5
SELECT smoker, COUNT(*) AS n FROM patients GROUP BY smoker HAVING smoker = FALSE OR smoker IS NULL
SELECT city, COUNT(v.pid) AS n, SUM(cost) AS s, AVG(v.cost) AS a FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU' GROUP BY city
SELECT smoker, SUM(CASE WHEN cost > 20 THEN 1 ELSE 0 END) AS n, COUNT(*) FILTER (WHERE v.cost < 5) AS f FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.ward <> 'ER' AND p.age > 20 GROUP BY smoker
SELECT ward, COUNT(*) AS n FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.cost > 9 WHERE v.pid IS NOT NULL GROUP BY ward
!unsupported-join SELECT AVG(age) AS n FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU'
!unsupported-join SELECT v.ward, COUNT(v.pid) AS n FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.cost > 9 GROUP BY v.ward
!unsupported-join SELECT SUM(COALESCE(v.cost, 1)) AS n FROM patients p LEFT JOIN visits v ON p.pid = v.pid AND v.ward = 'ICU'
SELECT plan, COUNT(*) AS n, AVG(premium) AS a, AVG(age) AS b FROM patients p LEFT JOIN insurance i ON p.pid = i.pid AND (i.premium > 9 OR p.smoker) GROUP BY plan
SELECT COUNT(*) AS n, COUNT(i.pid) AS k, AVG(COALESCE(premium, 0)) AS z FROM patients p LEFT JOIN insurance i ON p.pid = i.pid AND p.city = 'Oslo' AND premium > 3
SELECT blood, COUNT(*) AS n, COUNT(p.pid) AS k FROM visits v LEFT JOIN patients p ON p.pid = v.pid AND p.age > 40 GROUP BY blood
!unsupported-join SELECT p.city, COUNT(*) AS n FROM visits v LEFT JOIN patients p ON p.pid = v.pid AND p.age > 40 GROUP BY p.city
SELECT COUNT(g.pid) AS k, AVG(g.premium) AS a FROM patients p LEFT JOIN (SELECT pid, premium FROM insurance WHERE plan = 'gold') g ON g.pid = p.pid
WITH icu AS (SELECT * FROM visits WHERE ward = 'ICU') SELECT city, COUNT(icu.pid) AS n, SUM(icu.cost) AS s FROM patients p LEFT JOIN icu ON icu.pid = p.pid GROUP BY city
SELECT COUNT(*) AS n, COUNT(pid) AS a, COUNT(i.pid) AS b, COUNT(v.pid) AS c, COUNT(DISTINCT pid) AS d FROM insurance i FULL JOIN visits v USING (pid)
SELECT plan, ward, COUNT(*) AS n, SUM(cost) AS s FROM insurance FULL OUTER JOIN visits USING (pid) GROUP BY plan, ward
SELECT CASE WHEN i.pid IS NULL THEN 'visits' WHEN v.pid IS NULL THEN 'plan' ELSE 'both' END AS k, COUNT(*) AS n FROM insurance i FULL JOIN visits v ON i.pid = v.pid GROUP BY k
SELECT COUNT(*) AS n, AVG(age) AS a FROM insurance FULL JOIN visits USING (pid) FULL JOIN patients USING (pid)
!unsupported-join SELECT COUNT(*) AS n FROM insurance FULL JOIN visits USING (pid) JOIN patients USING (pid)
SELECT COUNT(*) AS n, COUNT(g.pid) AS k FROM patients p LEFT JOIN (SELECT pid, premium FROM insurance) g USING (pid)
!unsupported-expression SELECT MEDIAN(CASE WHEN age > 5 AND age < 3 THEN 0 END) AS x FROM patients
!unsupported-expression SELECT MEDIAN(CASE WHEN city = 'Bonn' THEN 0 END) AS x FROM patients
!unsupported-expression SELECT QUANTILE(NULL, 0.9) AS x FROM patients
