-- Customers, their orders (several rows each) and public products: the shapes of TPC-H.
SELECT COUNT(*) AS n FROM orders
SELECT COUNT(*) AS n, COUNT(DISTINCT uid) AS people FROM orders
SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY status
SELECT status, priority, SUM(quantity) AS q, AVG(quantity) AS a, AVG(discount) AS d, COUNT(*) AS n FROM orders WHERE shipped <= DATE '2026-02-28' - INTERVAL 20 DAY GROUP BY status, priority ORDER BY status, priority
SELECT SUM(quantity * discount) AS revenue FROM orders WHERE shipped >= DATE '2026-01-15' AND shipped < DATE '2026-01-15' + INTERVAL 1 MONTH AND discount BETWEEN 1 AND 3 AND quantity < 8
SELECT SUM(quantity * price) AS revenue FROM orders JOIN products USING (item)
SELECT brand, SUM(quantity * price) AS revenue FROM orders JOIN products USING (item) GROUP BY brand ORDER BY revenue DESC
SELECT brand, SUM(quantity * price * (1 - discount / 10.0)) AS revenue FROM orders JOIN products USING (item) GROUP BY brand ORDER BY brand
SELECT segment, COUNT(*) AS n FROM customers JOIN orders USING (uid) WHERE segment = 'HOUSEHOLD' AND shipped > DATE '2026-01-15' GROUP BY segment
SELECT nation, SUM(quantity) AS q FROM customers JOIN orders USING (uid) GROUP BY nation ORDER BY q DESC
SELECT nation, SUM(quantity) AS q FROM customers c JOIN orders o ON c.uid = o.uid WHERE c.segment IN ('BUILDING', 'MACHINERY') GROUP BY nation ORDER BY nation
SELECT EXTRACT(year FROM shipped) AS y, EXTRACT(month FROM shipped) AS m, COUNT(*) AS n FROM orders GROUP BY y, m ORDER BY y, m
SELECT date_trunc('month', shipped) AS month, SUM(quantity) AS q FROM orders GROUP BY 1 ORDER BY 1
SELECT date_trunc('week', shipped) AS week, COUNT(*) AS n FROM orders GROUP BY week ORDER BY week
SELECT dayname(shipped) AS day, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC
SELECT COUNT(*) FILTER (WHERE priority = 'URGENT') AS high, COUNT(*) FILTER (WHERE priority <> 'URGENT') AS low FROM orders
SELECT status, SUM(CASE WHEN priority IN ('URGENT', 'HIGH') THEN 1 ELSE 0 END) AS high, SUM(CASE WHEN priority NOT IN ('URGENT', 'HIGH') THEN 1 ELSE 0 END) AS low FROM orders GROUP BY status ORDER BY status
SELECT 100.0 * SUM(CASE WHEN category LIKE 'PROMO%' THEN quantity * price ELSE 0 END) / SUM(quantity * price) AS promo FROM orders JOIN products USING (item)
SELECT category, COUNT(*) AS n FROM orders JOIN products USING (item) WHERE brand <> 'B1' AND category NOT LIKE '%PROMO%' GROUP BY category ORDER BY n DESC, category
SELECT COUNT(*) AS n FROM orders WHERE priority IN ('URGENT', 'LOW') AND status = 'F'
SELECT COUNT(*) AS n FROM orders WHERE quantity > 5 OR discount = 0
SELECT COUNT(*) AS n FROM orders WHERE NOT (quantity > 5 OR discount = 0)
SELECT COUNT(*) AS n FROM orders WHERE quantity * discount > 20
SELECT COUNT(*) AS n FROM orders WHERE quantity - discount BETWEEN 2 AND 4
SELECT COUNT(*) AS n FROM orders WHERE quantity % 2 = 0
SELECT COUNT(*) AS n FROM orders WHERE shipped BETWEEN '2026-01-10' AND '2026-01-20'
SELECT COUNT(*) AS n FROM orders WHERE EXTRACT(dow FROM shipped) IN (0, 6)
SELECT quantity, COUNT(*) AS n FROM orders GROUP BY quantity ORDER BY quantity
SELECT quantity // 3 AS bucket, COUNT(*) AS n, AVG(discount) AS d FROM orders GROUP BY bucket ORDER BY bucket
SELECT CASE WHEN quantity < 3 THEN 'small' WHEN quantity < 7 THEN 'middle' ELSE 'large' END AS size, COUNT(*) AS n FROM orders GROUP BY size ORDER BY size
SELECT MEDIAN(quantity) AS m FROM orders
SELECT QUANTILE_CONT(quantity, 0.25) AS a, QUANTILE_CONT(quantity, 0.75) AS b FROM orders
SELECT status, MEDIAN(quantity) AS m FROM orders GROUP BY status ORDER BY status
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY price) AS p FROM orders JOIN products USING (item)
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY quantity) AS p FROM orders WHERE status = 'O'
SELECT QUANTILE_DISC(quantity, 0.9) - QUANTILE_DISC(quantity, 0.1) AS spread FROM orders
SELECT STDDEV(quantity) AS s, VARIANCE(quantity) AS v, STDDEV_POP(discount) AS p FROM orders
SELECT CORR(quantity, discount) AS r FROM orders
SELECT status, COVAR_SAMP(quantity, discount) AS c FROM orders GROUP BY status ORDER BY status
SELECT REGR_SLOPE(discount, quantity) AS slope, REGR_INTERCEPT(discount, quantity) AS start, REGR_R2(discount, quantity) AS r2 FROM orders
SELECT status, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM orders GROUP BY status ORDER BY status
SELECT status, SUM(quantity) / SUM(SUM(quantity)) OVER () AS share FROM orders GROUP BY status ORDER BY share DESC
SELECT status, priority, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY status) AS share FROM orders GROUP BY status, priority ORDER BY status, priority
SELECT status, ROUND(AVG(quantity), 2) AS a FROM orders GROUP BY status ORDER BY status
SELECT ROUND(SUM(quantity) / COUNT(*), 1) AS a, ABS(SUM(discount) - SUM(quantity)) AS b, CEIL(AVG(quantity)) AS c, FLOOR(AVG(quantity)) AS d FROM orders
SELECT COALESCE(SUM(quantity), 0) AS q FROM orders WHERE status = 'P'
SELECT SUM(quantity) / NULLIF(COUNT(*), 0) AS a FROM orders
SELECT COUNT_IF(quantity > 5) AS n, COUNT_IF(status = 'F') AS f FROM orders
SELECT COUNT_IF(discount > 0) * 1.0 / COUNT(*) AS share FROM orders
SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING COUNT(*) > 100 ORDER BY n DESC
SELECT priority, AVG(quantity) AS a FROM orders GROUP BY priority HAVING AVG(quantity) > 1 ORDER BY a DESC LIMIT 2
SELECT item, COUNT(*) AS n FROM orders GROUP BY item ORDER BY n DESC LIMIT 3
WITH o AS (SELECT * FROM orders WHERE status = 'F') SELECT priority, COUNT(*) AS n FROM o GROUP BY priority ORDER BY priority
WITH o AS (SELECT quantity * 2 AS twice, status FROM orders) SELECT status, SUM(twice) AS t FROM o GROUP BY status ORDER BY status
WITH o AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) SELECT status, n FROM o WHERE n > 10 ORDER BY n DESC
WITH o AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) SELECT SUM(n) AS total FROM o
WITH a AS (SELECT * FROM orders WHERE quantity > 2), b AS (SELECT * FROM a WHERE discount > 0) SELECT COUNT(*) AS n FROM b
SELECT priority, n FROM (SELECT priority, COUNT(*) AS n FROM orders GROUP BY priority) t ORDER BY n DESC LIMIT 2
SELECT t.priority, t.n * 2 AS twice FROM (SELECT priority, COUNT(*) AS n FROM orders GROUP BY 1) AS t WHERE t.priority <> 'LOW' ORDER BY 1
SELECT AVG(big) AS share FROM (SELECT CASE WHEN quantity > 5 THEN 1 ELSE 0 END AS big FROM orders) t
SELECT COUNT(*) AS n FROM (SELECT quantity, discount FROM orders WHERE status = 'O') t WHERE quantity > discount
SELECT month, SUM(q) AS q FROM (SELECT date_trunc('month', shipped) AS month, quantity AS q FROM orders) t GROUP BY month ORDER BY month
SELECT COUNT(*) AS n FROM main.orders
SELECT o.status, COUNT(*) AS n FROM main.orders AS o GROUP BY o.status ORDER BY o.status
SELECT DISTINCT status FROM orders ORDER BY status
SELECT nation, AVG(balance) AS a, MEDIAN(balance) AS m FROM customers GROUP BY nation ORDER BY nation
SELECT segment, COUNT(*) AS n, SUM(balance) AS b FROM customers GROUP BY segment ORDER BY b DESC
SELECT segment, nation, COUNT(*) AS n FROM customers WHERE balance > 10 GROUP BY segment, nation ORDER BY n DESC, segment, nation LIMIT 5
SELECT upper(substr(nation, 1, 2)) AS code, COUNT(*) AS n FROM customers GROUP BY 1 ORDER BY 1
SELECT nation || '/' || segment AS pair, COUNT(*) AS n FROM customers GROUP BY pair ORDER BY pair
SELECT COUNT(*) AS n FROM customers WHERE nation ILIKE 'fr%' OR segment LIKE '_UILDING'
SELECT COUNT(*) AS n FROM customers WHERE length(nation) = 5
SELECT balance - balance % 5 AS bin, COUNT(*) AS n FROM customers GROUP BY bin ORDER BY bin
SELECT width_bucket(balance, 0, 25, 5) AS bin, COUNT(*) AS n FROM customers WHERE FALSE OR balance >= 0 GROUP BY bin ORDER BY bin --no-duckdb
SELECT SUM(balance * balance) AS s, AVG(sqrt(balance)) AS r FROM customers
SELECT SUM(quantity) AS q FROM orders JOIN customers USING (uid) JOIN products USING (item) WHERE brand = 'B2' AND nation = 'FRANCE'
SELECT nation, brand, COUNT(*) AS n FROM orders JOIN customers USING (uid) JOIN products USING (item) GROUP BY nation, brand ORDER BY nation, brand
SELECT nation, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM customers GROUP BY nation ORDER BY nation
SELECT AVG(quantity) FILTER (WHERE status = 'F') - AVG(quantity) FILTER (WHERE status = 'O') AS gap FROM orders
SELECT SUM(quantity) FILTER (WHERE shipped < '2026-02-01') AS before, SUM(quantity) FILTER (WHERE shipped >= '2026-02-01') AS after FROM orders
SELECT date_diff('day', DATE '2026-01-01', shipped) // 7 AS week, COUNT(*) AS n FROM orders GROUP BY week ORDER BY week
SELECT AVG(date_diff('day', DATE '2026-01-01', shipped)) AS wait FROM orders
SELECT strftime(shipped, '%Y-%m') AS month, COUNT(*) AS n FROM orders GROUP BY month ORDER BY month
SELECT COUNT(*) AS n FROM orders WHERE shipped IN ('2026-01-05', '2026-01-06')
SELECT SUM(quantity) AS total, SUM(discount) AS d, total / d AS per FROM orders
!unsupported-aggregate SELECT MAX(quantity) FROM orders
!unsupported-aggregate SELECT MIN(shipped) FROM orders
SELECT MODE(status) AS m FROM orders --no-duckdb
!unsupported-aggregate SELECT STRING_AGG(status, ',') FROM orders
!private-rows SELECT * FROM orders
!not-grouped SELECT quantity FROM orders
SELECT COUNT(*) AS n FROM customers LEFT JOIN orders USING (uid)
!count-distinct SELECT COUNT(DISTINCT item) FROM orders
!unsupported-window SELECT status, ROW_NUMBER() OVER () FROM orders GROUP BY status
!unsupported-subquery SELECT COUNT(*) FROM orders WHERE quantity > (SELECT AVG(quantity) FROM orders)
!unknown-column SELECT COUNT(*) FROM orders WHERE tax > 1
!unknown-value SELECT COUNT(*) FROM orders WHERE priority = 'URGNT'
!unsupported-subquery SELECT AVG(n) FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) t
-- Joins, chains of WITH and ranks, as BI tools and dbt write them.
SELECT c.nation, COUNT(*) AS orders, SUM(o.quantity) AS units FROM customers c JOIN orders o ON c.uid = o.uid GROUP BY c.nation ORDER BY units DESC
SELECT c.nation, SUM(o.quantity * (4 - o.discount)) AS revenue FROM customers AS c INNER JOIN orders AS o USING (uid) WHERE o.status = 'F' GROUP BY 1 HAVING SUM(o.quantity) > 100 ORDER BY 2 DESC LIMIT 2
SELECT status, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM orders) AS pct FROM orders GROUP BY status
SELECT status, priority, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((status, priority), (status), ())
SELECT DATE_TRUNC('week', shipped) AS week, SUM(quantity) AS units FROM orders GROUP BY week ORDER BY week
SELECT shipped, COUNT(*) AS n FROM orders WHERE shipped > DATE '2026-02-20' GROUP BY shipped ORDER BY shipped DESC
WITH recent AS (SELECT * FROM orders WHERE shipped >= DATE '2026-02-01') SELECT priority, AVG(quantity) AS a FROM recent GROUP BY priority
WITH o AS (SELECT uid, quantity FROM orders WHERE status = 'F'), c AS (SELECT uid, segment FROM customers) SELECT c.segment, SUM(o.quantity) AS q FROM o JOIN c USING (uid) GROUP BY c.segment
SELECT p.brand, COUNT(*) AS n FROM orders o JOIN products p ON o.item = p.item GROUP BY p.brand ORDER BY n DESC
SELECT CASE WHEN p.category LIKE 'PROMO%' THEN 'promo' ELSE 'other' END AS kind, SUM(o.quantity) AS q FROM orders o JOIN products p ON o.item = p.item GROUP BY kind
SELECT COUNT(DISTINCT o.uid) AS buyers FROM orders o
SELECT status, COUNT(*) AS n FROM orders GROUP BY status UNION ALL SELECT 'all' AS status, COUNT(*) AS n FROM orders ORDER BY n DESC LIMIT 2
SELECT nation, COUNT(*) AS n FROM customers GROUP BY nation ORDER BY n DESC LIMIT 1 OFFSET 1
SELECT segment, nation, COUNT(*) AS n FROM customers GROUP BY segment, nation QUALIFY ROW_NUMBER() OVER (PARTITION BY segment ORDER BY COUNT(*) DESC) <= 2
SELECT nation, AVG(balance) AS a, AVG(balance) - (SELECT AVG(balance) FROM customers) AS over FROM customers GROUP BY nation
-- What BI tools, dbt and other databases' users write.
SELECT status, SUM(quantity) AS q, SUM(quantity * (1 - discount / 100.0)) AS rev, COUNT(*) AS n FROM orders WHERE shipped <= DATE '2026-02-20' GROUP BY status ORDER BY status
SELECT nation, SUM(quantity) AS q FROM customers JOIN orders USING (uid) WHERE segment = 'BUILDING' GROUP BY nation ORDER BY q DESC
SELECT brand, SUM(price * quantity) AS revenue FROM orders JOIN products USING (item) GROUP BY brand ORDER BY revenue DESC
SELECT 100.0 * SUM(CASE WHEN category LIKE 'PROMO%' THEN price ELSE 0 END) / SUM(price) AS promo FROM orders JOIN products USING (item)
SELECT c.nation, COUNT(*) AS n FROM customers c INNER JOIN orders o ON c.uid = o.uid GROUP BY c.nation
SELECT nation, MEDIAN(quantity) AS m FROM customers JOIN orders USING (uid) GROUP BY nation
SELECT date_trunc('month', shipped) AS m, SUM(quantity) AS q FROM orders GROUP BY 1 ORDER BY 1
SELECT COUNT(*) AS n FROM orders WHERE discount BETWEEN 1 AND 3 AND quantity < 5
SELECT priority, COUNT(*) FILTER (WHERE status = 'F') AS f, COUNT(*) FILTER (WHERE status <> 'F') AS rest FROM orders GROUP BY priority
SELECT COUNT(*) AS n FROM customers WHERE uid IN (SELECT uid FROM orders)
SELECT COUNT(*) AS n FROM orders WHERE uid NOT IN (SELECT uid FROM customers)
SELECT COUNT(*) AS n, SUM(quantity) AS q FROM orders WHERE uid IN (SELECT uid FROM customers WHERE nation = 'KENYA')
SELECT status, COUNT(*) AS n FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.uid = o.uid AND c.balance > 12) AND quantity > 2 GROUP BY status ORDER BY status
WITH rich AS (SELECT uid FROM customers WHERE balance > 12) SELECT AVG(discount) AS d FROM orders WHERE uid IN (SELECT uid FROM rich)
SELECT nation, COUNT(*) AS n FROM orders LEFT JOIN customers USING (uid) GROUP BY nation ORDER BY nation
SELECT COUNT(*) AS n FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.uid = c.uid)
SELECT COUNT(DISTINCT uid) AS n FROM orders
SELECT COUNT(*) AS n FROM customers, orders WHERE customers.uid = orders.uid AND nation = 'CHINA'
SELECT AVG(n) AS a FROM (SELECT uid, COUNT(*) AS n FROM orders GROUP BY uid) t
SELECT c.nation, SUM(o.quantity) AS q FROM customers c, orders o WHERE c.uid = o.uid AND o.status = 'F' GROUP BY c.nation ORDER BY q DESC
SELECT p.brand, SUM(p.price * o.quantity) AS revenue FROM orders o, products p WHERE o.item = p.item AND o.discount > 1 GROUP BY p.brand
SELECT c.nation, SUM(o.quantity) AS q FROM customers c CROSS JOIN orders o WHERE c.uid = o.uid GROUP BY c.nation
!unsupported-join SELECT COUNT(*) AS n FROM customers, orders
!unsupported-subquery SELECT COUNT(*) AS n FROM orders o WHERE EXISTS (SELECT COUNT(*) FROM customers c WHERE c.uid = o.uid AND c.balance > 12)
-- Moving sums, and differences from the group before.
SELECT shipped, COUNT(*) AS n, LAG(COUNT(*)) OVER (ORDER BY shipped) AS prev FROM orders WHERE shipped < '2026-01-08' GROUP BY shipped
SELECT shipped, COUNT(*) - LAG(COUNT(*), 2, 0) OVER (ORDER BY shipped) AS diff FROM orders WHERE shipped < '2026-01-08' GROUP BY shipped
SELECT shipped, LEAD(AVG(quantity)) OVER (ORDER BY shipped DESC) AS nxt FROM orders WHERE shipped < '2026-01-08' GROUP BY shipped
SELECT status, month(shipped) AS m, SUM(quantity) AS s, SUM(quantity) - LAG(SUM(quantity)) OVER (PARTITION BY status ORDER BY month(shipped)) AS diff FROM orders GROUP BY status, month(shipped)
SELECT shipped, AVG(COUNT(*)) OVER (ORDER BY shipped ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma FROM orders GROUP BY shipped
SELECT shipped, AVG(SUM(quantity)) OVER (ORDER BY shipped ROWS 2 PRECEDING) AS ma FROM orders WHERE shipped < '2026-02-01' GROUP BY shipped
SELECT shipped, SUM(COUNT(*)) OVER (ORDER BY shipped ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS ma FROM orders WHERE shipped < '2026-02-01' GROUP BY shipped
SELECT shipped, SUM(COUNT(*)) OVER (ORDER BY shipped ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ma FROM orders WHERE shipped < '2026-01-12' GROUP BY shipped
WITH t AS (SELECT month(shipped) AS m, COUNT(*) AS n FROM orders GROUP BY m) SELECT m, n, n - LAG(n) OVER (ORDER BY m) AS change FROM t
!unsupported-window SELECT shipped, status, LAG(COUNT(*)) OVER (ORDER BY shipped) AS p FROM orders GROUP BY shipped, status
!not-an-aggregate SELECT shipped, LAG(shipped) OVER (ORDER BY shipped) AS p FROM orders GROUP BY shipped
SELECT shipped, FIRST_VALUE(COUNT(*)) OVER (ORDER BY shipped) AS p FROM orders GROUP BY shipped
!unsupported-window SELECT shipped, SUM(COUNT(*)) OVER (ORDER BY shipped RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS p FROM orders GROUP BY shipped
