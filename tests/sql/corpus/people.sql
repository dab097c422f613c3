-- One row per person: what BI tools, dashboards and notebooks ask.
SELECT COUNT(*) AS n FROM adults
SELECT COUNT(1) AS n FROM adults
SELECT COUNT(*) AS "count_star()" FROM "adults"
SELECT COUNT(*) AS n FROM "main"."adults"
SELECT COUNT(*) AS n FROM public.adults --no-duckdb
SELECT "adults"."sex" AS "sex", COUNT(*) AS "count" FROM "adults" GROUP BY "adults"."sex" ORDER BY "count" DESC
SELECT a.sex, a.job, COUNT(*) AS n FROM adults AS a GROUP BY a.sex, a.job ORDER BY a.sex, a.job
SELECT sex, AVG(age) AS a, AVG(income) AS i FROM adults GROUP BY sex ORDER BY sex
SELECT job, AVG(income) AS i FROM adults WHERE job IS NOT NULL GROUP BY job ORDER BY i DESC
SELECT job, AVG(income) AS i FROM adults WHERE job IS NOT NULL GROUP BY job ORDER BY i DESC LIMIT 1
SELECT job, COUNT(*) AS n FROM adults GROUP BY job ORDER BY n DESC LIMIT 3
SELECT age, COUNT(*) AS n FROM adults GROUP BY age ORDER BY age
SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM adults GROUP BY decade ORDER BY decade
SELECT floor(age / 10) * 10 AS decade, AVG(income) AS i FROM adults GROUP BY 1 ORDER BY 1
SELECT CAST(age / 20 AS INTEGER) AS bin, COUNT(*) AS n FROM adults GROUP BY bin ORDER BY bin
SELECT width_bucket(age, 20, 80, 6) AS bin, COUNT(*) AS n FROM adults GROUP BY bin ORDER BY bin --no-duckdb
SELECT CASE WHEN age < 30 THEN '18-29' WHEN age < 50 THEN '30-49' ELSE '50+' END AS band, sex, COUNT(*) AS n, AVG(income) AS i FROM adults GROUP BY band, sex ORDER BY band, sex
SELECT CASE WHEN income > 20 THEN 'rich' WHEN income > 10 THEN 'middle' END AS class, COUNT(*) AS n FROM adults GROUP BY class ORDER BY class
SELECT CASE WHEN age > 60 AND sex = 'F' THEN 1 WHEN income * 2 > age THEN 2 ELSE 3 END AS kind, COUNT(*) AS n FROM adults GROUP BY kind ORDER BY kind
SELECT MEDIAN(age) AS a, MEDIAN(income) AS i FROM adults
SELECT sex, MEDIAN(income) AS i FROM adults GROUP BY sex ORDER BY sex
SELECT job, QUANTILE_CONT(income, 0.9) AS i FROM adults GROUP BY job ORDER BY job
SELECT QUANTILE_DISC(age, 0.1) AS a, QUANTILE_DISC(age, 0.25) AS b, QUANTILE_DISC(age, 0.5) AS c, QUANTILE_DISC(age, 0.75) AS d, QUANTILE_DISC(age, 0.9) AS e FROM adults
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS q1, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age) AS q3 FROM adults
SELECT sex, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income DESC) AS i FROM adults GROUP BY sex ORDER BY sex
SELECT QUANTILE_CONT(age, 0.75) - QUANTILE_CONT(age, 0.25) AS iqr FROM adults WHERE job = 'clerk'
SELECT MEDIAN(age) FILTER (WHERE sex = 'F') - MEDIAN(age) FILTER (WHERE sex = 'M') AS gap FROM adults
SELECT MEDIAN(income * 12) AS year FROM adults
SELECT MEDIAN(age - income) AS d FROM adults
SELECT ROUND(MEDIAN(age), 0) AS a FROM adults
SELECT AVG(age) - MEDIAN(age) AS skew FROM adults
SELECT job, MEDIAN(age) AS a FROM adults GROUP BY job HAVING MEDIAN(age) > 20 ORDER BY job
SELECT STDDEV(age) AS s, STDDEV(age) / AVG(age) AS cv FROM adults
SELECT AVG(age) - 1.96 * STDDEV(age) AS low, AVG(age) + 1.96 * STDDEV(age) AS high FROM adults
SELECT VAR_SAMP(income) AS v, VAR_POP(income) AS p FROM adults WHERE sex = 'F'
SELECT sex, CORR(age, income) AS r, COVAR_POP(age, income) AS c FROM adults GROUP BY sex ORDER BY sex
SELECT REGR_SLOPE(income, age) AS slope, REGR_INTERCEPT(income, age) AS start FROM adults
SELECT job, REGR_R2(income, age) AS r2 FROM adults WHERE job IS NOT NULL GROUP BY job ORDER BY job
SELECT CORR(income, age * age) AS r FROM adults
SELECT CORR(income, CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS r FROM adults
SELECT COUNT_IF(income > 15) AS n, COUNT_IF(income > 15) / COUNT(*) AS share FROM adults
SELECT sex, AVG((income > 15)::INT) AS share FROM adults GROUP BY sex ORDER BY sex
SELECT sex, SUM((income > 15)::INT) AS n FROM adults GROUP BY sex ORDER BY sex
SELECT job, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 2) AS percent FROM adults GROUP BY job ORDER BY job
SELECT job, sex, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY job) AS share FROM adults GROUP BY job, sex ORDER BY job, sex
SELECT job, SUM(income) / SUM(SUM(income)) OVER () AS share FROM adults WHERE age < 60 GROUP BY job ORDER BY share DESC
SELECT COUNT(job) AS known, COUNT(*) - COUNT(job) AS missing FROM adults
SELECT COUNT(*) AS n FROM adults WHERE job IS NULL
SELECT COALESCE(job, 'unknown') AS job, COUNT(*) AS n FROM adults GROUP BY 1 ORDER BY 1
SELECT job = 'clerk' AS clerk, COUNT(*) AS n FROM adults GROUP BY clerk ORDER BY clerk
SELECT COUNT(*) AS n FROM adults WHERE job LIKE '%er'
SELECT COUNT(*) AS n FROM adults WHERE job NOT LIKE '%er'
SELECT COUNT(*) AS n FROM adults WHERE job ILIKE 'D%'
SELECT COUNT(*) AS n FROM adults WHERE job LIKE 'c_erk' OR job LIKE 'teach%'
SELECT COUNT(*) AS n FROM adults WHERE job IN ('clerk', 'doctor')
SELECT COUNT(*) AS n FROM adults WHERE job NOT IN ('clerk', 'doctor')
SELECT COUNT(*) AS n FROM adults WHERE upper(job) = 'CLERK'
SELECT COUNT(*) AS n FROM adults WHERE contains(job, 'a')
SELECT COUNT(*) AS n FROM adults WHERE age BETWEEN 30 AND 40 AND income >= 10
SELECT COUNT(*) AS n FROM adults WHERE age NOT BETWEEN 30 AND 40
SELECT COUNT(*) AS n FROM adults WHERE age + income > 60
SELECT COUNT(*) AS n FROM adults WHERE income > age / 3
SELECT COUNT(*) AS n FROM adults WHERE income * 2 BETWEEN age - 10 AND age + 10
SELECT COUNT(*) AS n FROM adults WHERE income = age - 18
SELECT COUNT(*) AS n FROM adults WHERE income > age
SELECT COUNT(*) AS n FROM adults WHERE CASE WHEN sex = 'F' THEN income > 10 ELSE income > 12 END
SELECT COUNT(*) AS n FROM adults WHERE (age > 30) = (income > 10)
SELECT COUNT(*) AS n FROM adults WHERE NOT (sex = 'F' AND (job = 'clerk' OR age < 30))
SELECT COUNT(*) AS n FROM adults WHERE sex = 'F' AND sex = 'M'
SELECT SUM(income) AS s, SUM(income * 1.19) AS gross FROM adults
SELECT SUM(CASE WHEN sex = 'F' THEN income ELSE 0 END) / SUM(income) AS share FROM adults
SELECT SUM(income) FILTER (WHERE sex = 'F') / SUM(income) AS share FROM adults
SELECT AVG(income) FILTER (WHERE job = 'doctor') / AVG(income) AS ratio FROM adults
SELECT AVG(income * income) - AVG(income) * AVG(income) AS v FROM adults
SELECT AVG(least(income, 20)) AS winsorized FROM adults
SELECT AVG(age % 10) AS digit FROM adults
SELECT AVG(abs(age - 50)) AS off FROM adults
SELECT SUM(power(income, 2)) AS s FROM adults
SELECT AVG(log_income) AS a FROM (SELECT ln(income + 1) AS log_income FROM adults) t
SELECT date_trunc('month', hired) AS month, COUNT(*) AS n FROM adults GROUP BY month ORDER BY month
SELECT date_trunc('quarter', hired) AS q, AVG(income) AS i FROM adults GROUP BY q ORDER BY q
SELECT year(hired) AS y, month(hired) AS m, COUNT(*) AS n FROM adults GROUP BY y, m ORDER BY y, m
SELECT quarter(hired) AS q, COUNT(*) AS n FROM adults GROUP BY q ORDER BY q
SELECT monthname(hired) AS m, COUNT(*) AS n FROM adults GROUP BY m ORDER BY n DESC, m
SELECT COUNT(*) AS n FROM adults WHERE hired >= DATE '2025-07-01'
SELECT COUNT(*) AS n FROM adults WHERE hired >= DATE '2025-12-31' - INTERVAL 90 DAY
SELECT COUNT(*) AS n FROM adults WHERE hired >= DATE '2025-12-31' - INTERVAL '3 months' AND hired < DATE '2025-12-01'
SELECT COUNT(*) AS n FROM adults WHERE extract(month FROM hired) = 2
SELECT COUNT(*) AS n FROM adults WHERE date_part('quarter', hired) = 3
SELECT COUNT(*) AS n FROM adults WHERE hired + INTERVAL 1 YEAR > DATE '2026-06-01'
SELECT AVG(date_diff('day', hired, DATE '2026-01-01')) AS tenure FROM adults
SELECT MEDIAN(date_diff('week', hired, DATE '2026-01-01')) AS tenure FROM adults
SELECT strftime(hired, '%m') AS m, COUNT(*) AS n FROM adults WHERE sex = 'F' GROUP BY m ORDER BY m
WITH working AS (SELECT * FROM adults WHERE job IS NOT NULL) SELECT sex, COUNT(*) AS n FROM working GROUP BY sex ORDER BY sex
WITH t AS (SELECT sex, age // 10 AS decade, income FROM adults) SELECT decade, sex, AVG(income) AS i FROM t WHERE decade < 7 GROUP BY decade, sex ORDER BY decade, sex
WITH t AS (SELECT job, AVG(income) AS i, COUNT(*) AS n FROM adults GROUP BY job) SELECT job, i FROM t WHERE n > 100 ORDER BY i DESC
WITH t AS (SELECT job, COUNT(*) AS n FROM adults GROUP BY job) SELECT job, n, n / SUM(n) OVER () AS share FROM t ORDER BY job
WITH young AS (SELECT * FROM adults WHERE age < 30), women AS (SELECT * FROM young WHERE sex = 'F') SELECT AVG(income) AS i FROM women
SELECT band, COUNT(*) AS n FROM (SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS band FROM adults) t GROUP BY band ORDER BY band
SELECT * FROM (SELECT sex, job, COUNT(*) AS n FROM adults GROUP BY sex, job) t WHERE sex = 'F' ORDER BY job
SELECT job, n FROM (SELECT job, COUNT(*) AS n FROM adults GROUP BY job ORDER BY n DESC LIMIT 2) t
SELECT SUM(total) AS t FROM (SELECT job, SUM(income) AS total FROM adults GROUP BY job) x
SELECT DISTINCT sex FROM adults ORDER BY sex
SELECT sex, job FROM adults GROUP BY sex, job ORDER BY sex, job
SELECT COUNT(*) AS n, SUM(income) AS s, s / n AS per_head FROM adults
SELECT GREATEST(AVG(income) - 10, 0) AS above, CAST(ROUND(AVG(age)) AS INT) AS a FROM adults
SELECT -SUM(income) AS s, ABS(SUM(income) - SUM(age)) AS d, SQRT(VAR_POP(age)) AS r FROM adults
SELECT TRUE AS yes, 2 * 3 AS six
!unsupported-aggregate SELECT MIN(age), MAX(age) FROM adults
SELECT MODE(job) AS m FROM adults --no-duckdb
!unsupported-aggregate SELECT ARRAY_AGG(age) FROM adults
!unsupported-aggregate SELECT FIRST(age) FROM adults
!count-distinct SELECT APPROX_COUNT_DISTINCT(job) FROM adults
!count-distinct SELECT COUNT(DISTINCT job) FROM adults
!count-distinct SELECT SUM(DISTINCT age) FROM adults
!private-rows SELECT * FROM adults
!not-grouped SELECT age, income FROM adults LIMIT 5
!unknown-value SELECT COUNT(*) FROM adults WHERE job = 'Doctor'
!unknown-value SELECT COUNT(*) FROM adults WHERE sex = 'female'
!unknown-column SELECT COUNT(*) FROM adults WHERE salary > 3
!unknown-column SELECT nope FROM (SELECT sex FROM adults) t
!key-column SELECT uid, COUNT(*) FROM adults GROUP BY uid
!wrong-constant SELECT COUNT(*) FROM adults WHERE age = 'old'
!not-a-number SELECT MEDIAN(job) FROM adults
SELECT MEDIAN(hired) AS m FROM adults --no-duckdb
!bad-share SELECT QUANTILE_CONT(age, [0.1, 0.9]) FROM adults
!unsupported-window SELECT sex, SUM(income) OVER (PARTITION BY sex) FROM adults GROUP BY sex
!unsupported-subquery SELECT MAX(n) FROM (SELECT job, COUNT(*) AS n FROM adults GROUP BY job) t
!unsupported-subquery SELECT COUNT(*) FROM (SELECT * FROM adults LIMIT 10) t
!unsupported-subquery SELECT COUNT(*) FROM adults WHERE EXISTS (SELECT 1 FROM adults)
SELECT COUNT(*) AS n FROM adults WHERE uid IN (SELECT uid FROM adults WHERE age > 50) AND sex = 'F'
SELECT a.sex, COUNT(*) AS n FROM adults a LEFT JOIN adults b ON a.uid = b.uid WHERE b.age > 40 GROUP BY a.sex ORDER BY a.sex
!several-statements SELECT COUNT(*) FROM adults; SELECT 1
!not-a-select INSERT INTO adults VALUES (1)
SELECT 'all' AS who, COUNT(*) AS n FROM adults GROUP BY who UNION ALL SELECT 'women' AS who, COUNT(*) AS n FROM adults WHERE sex = 'F' GROUP BY who
SELECT 'women' AS who, COUNT(*) AS n FROM adults WHERE sex = 'F' UNION ALL SELECT 'men', COUNT(*) AS n FROM adults WHERE sex = 'M'
SELECT 'total' AS label, SUM(income) AS s FROM adults
!unsupported-union SELECT COUNT(*) FROM adults UNION SELECT COUNT(*) FROM adults
SELECT sex AS label, COUNT(*) AS n FROM adults GROUP BY sex UNION ALL SELECT job AS label, COUNT(*) AS n FROM adults WHERE job IS NOT NULL GROUP BY job
-- Dates, running totals, bands and ranks, as analysts write them.
SELECT DATE_TRUNC('month', hired) AS month, COUNT(*) AS n FROM adults GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC('quarter', hired)::DATE AS quarter, AVG(income) AS a FROM adults GROUP BY quarter ORDER BY quarter
SELECT EXTRACT(YEAR FROM hired) AS y, EXTRACT(MONTH FROM hired) AS m, COUNT(*) AS n FROM adults GROUP BY 1, 2 ORDER BY 1, 2
SELECT STRFTIME(hired, '%Y-%m') AS ym, COUNT(*) AS n FROM adults GROUP BY ym HAVING COUNT(*) > 100
SELECT COUNT(*) AS n FROM adults WHERE hired >= DATE '2025-06-01' - INTERVAL 1 MONTH AND hired < DATE '2025-06-01'
SELECT COUNT(*) AS n FROM adults WHERE hired BETWEEN '2025-03-01' AND '2025-05-31'
SELECT COUNT(*) AS n FROM adults WHERE hired + INTERVAL 90 DAY <= DATE '2025-12-31'
SELECT DATE_DIFF('day', hired, DATE '2025-12-31') // 30 AS months, COUNT(*) AS n FROM adults GROUP BY months ORDER BY months
SELECT AVG(DATE_DIFF('day', hired, DATE '2025-12-31')) AS days FROM adults
SELECT DAYNAME(hired) AS d, COUNT(*) AS n FROM adults GROUP BY d
SELECT CASE WHEN age BETWEEN 18 AND 29 THEN '18-29' WHEN age BETWEEN 30 AND 49 THEN '30-49' ELSE '50+' END AS band, sex, COUNT(*) AS n, AVG(income) AS mean FROM adults GROUP BY band, sex ORDER BY band, sex
SELECT job, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY job) AS running FROM adults GROUP BY job ORDER BY job
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) / SUM(COUNT(*)) OVER () AS cdf FROM adults GROUP BY age ORDER BY age
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age DESC) AS at_least FROM adults GROUP BY age
SELECT sex, age, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY age) AS running FROM adults WHERE age < 30 GROUP BY sex, age
WITH filtered AS (SELECT * FROM adults WHERE age >= 25), banded AS (SELECT sex, income, FLOOR(age / 10) * 10 AS decade FROM filtered), totals AS (SELECT decade, sex, COUNT(*) AS n, SUM(income) AS s FROM banded GROUP BY decade, sex) SELECT decade, sex, s / n AS mean_income FROM totals WHERE n > 20 ORDER BY decade, sex
SELECT sex, job, COUNT(*) AS n FROM adults WHERE job IS NOT NULL GROUP BY CUBE (sex, job)
SELECT sex, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM adults GROUP BY sex
SELECT job, AVG(income) AS a FROM adults GROUP BY job QUALIFY DENSE_RANK() OVER (ORDER BY AVG(income) DESC) = 1
SELECT COALESCE(job, 'unknown') AS job, COUNT(*) AS n FROM adults GROUP BY COALESCE(job, 'unknown')
SELECT COUNT(*) - COUNT(job) AS missing, 1.0 - COUNT(job) / COUNT(*) AS share FROM adults
SELECT COUNT(*) AS n FROM adults WHERE (job = 'clerk') IS DISTINCT FROM (sex = 'F')
SELECT COUNT(*) AS n FROM adults WHERE (sex, job) IN (('F', 'clerk'), ('M', 'farmer'))
SELECT COUNT(*) AS n FROM adults WHERE age BETWEEN SYMMETRIC 40 AND 30 --no-duckdb
SELECT ROUND(STDDEV(income) / AVG(income), 3) AS cv FROM adults
SELECT (AVG(income) FILTER (WHERE sex = 'M') / AVG(income) FILTER (WHERE sex = 'F') - 1) * 100 AS gap FROM adults
SELECT sex, QUANTILE_CONT(income, 0.75) - QUANTILE_CONT(income, 0.25) AS iqr FROM adults GROUP BY sex
SELECT MEDIAN(age) AS m, AVG(age) AS a, COUNT(*) AS n FROM adults WHERE job IS NOT NULL
SELECT job, sex, COUNT(*) AS n FROM adults WHERE income > 10 AND job IS NOT NULL GROUP BY ROLLUP (job, sex)
SELECT "sex", "job", COUNT(*) AS "Number of Records" FROM "adults" GROUP BY "sex", "job" ORDER BY "Number of Records" DESC LIMIT 3 OFFSET 1
SELECT DATE_TRUNC('month', "adults"."hired") AS "hired", COUNT(*) AS "count" FROM "adults" WHERE ("adults"."hired" >= DATE '2025-04-01' AND "adults"."hired" < DATE '2025-10-01') GROUP BY DATE_TRUNC('month', "adults"."hired") ORDER BY DATE_TRUNC('month', "adults"."hired") ASC
SELECT SUM(income) AS s, SUM(SUM(income)) OVER () AS t, sex FROM adults GROUP BY sex
-- What BI tools, dbt and other databases' users write.
SELECT EXTRACT(quarter FROM hired) AS q, AVG(income) AS a FROM adults GROUP BY 1 ORDER BY 1
SELECT strftime(hired, '%Y-%m') AS ym, COUNT(*) AS n FROM adults GROUP BY ym ORDER BY ym
SELECT COUNT(*) AS n FROM adults WHERE hired >= DATE '2025-06-01' AND hired < DATE '2025-06-01' + INTERVAL 1 MONTH
SELECT age // 10 * 10 AS decade, COUNT(*) AS n, AVG(income) AS i FROM adults GROUP BY decade ORDER BY decade
SELECT sex, job, AVG(income) AS i FROM adults WHERE job IS NOT NULL GROUP BY sex, job ORDER BY i DESC LIMIT 3
SELECT COUNT(*) AS n FROM adults WHERE age >= 65 OR income > 20
SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS g, QUANTILE(income, 0.5) AS m FROM adults GROUP BY g
SELECT COUNT(*) AS n FROM adults WHERE YEAR(hired) = 2025 AND MONTH(hired) IN (1, 2, 3)
SELECT REGR_SLOPE(income, age) AS s FROM adults WHERE sex = 'F'
SELECT sex, MEDIAN(income) - (SELECT MEDIAN(income) FROM adults) AS d FROM adults GROUP BY sex
SELECT COUNT(*) AS n FROM adults WHERE hired BETWEEN '2025-02-01' AND '2025-03-01'
SELECT DATE_DIFF('day', DATE '2025-01-01', hired) AS d, COUNT(*) AS n FROM adults GROUP BY 1
SELECT AVG(age) FILTER (WHERE sex = 'F') - AVG(age) FILTER (WHERE sex = 'M') AS gap FROM adults
SELECT DAYNAME(hired) AS d, COUNT(*) AS n FROM adults GROUP BY 1
SELECT weekofyear(hired) AS w, COUNT(*) AS n FROM adults GROUP BY 1
SELECT LAST_DAY(hired) AS w, COUNT(*) AS n FROM adults GROUP BY 1
!not-an-aggregate SELECT AGE(hired) FROM adults
SELECT COUNT(*) AS n FROM adults WHERE hired > NOW() -- the clock
SELECT COUNT(*) AS n FROM adults WHERE hired > CURRENT_DATE - INTERVAL 30 DAY -- the clock
SELECT AVG(LN(income + 1)) AS l FROM adults
SELECT SUM(income) / NULLIF(COUNT(*), 0) AS a FROM adults
SELECT IFNULL(job, 'unknown') AS j, COUNT(*) AS n FROM adults GROUP BY 1
!not-readable SELECT DECODE(sex, 'F', 1, 0) AS j, COUNT(*) AS n FROM adults GROUP BY 1
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income DESC) AS m FROM adults
SELECT * FROM (SELECT COUNT(*) AS n FROM adults) t WHERE 1 = 0
SELECT * FROM (SELECT sex, COUNT(*) AS n FROM adults GROUP BY sex) t WHERE 1 = 0
SELECT DATE_DIFF('week', hired, DATE '2025-07-03') AS w, COUNT(*) AS n FROM adults GROUP BY w
!not-a-condition SELECT COUNT(*) AS n FROM adults WHERE job
!not-a-condition SELECT COUNT(*) AS n FROM adults WHERE hired
!not-a-condition SELECT COUNT(*) AS n FROM adults WHERE age > 40 AND NOT sex
SELECT COUNT(*) AS n FROM adults WHERE CASE sex WHEN 'F' THEN 'yes' ELSE 'no' END
