-- Questions of product managers and BI tools over a shop.
SELECT COUNT(*) AS n FROM users
SELECT country, COUNT(*) AS n FROM users GROUP BY country ORDER BY n DESC LIMIT 3
SELECT COUNT(*) AS signups FROM users WHERE signup_date >= TIMESTAMP '2025-01-01 00:00:00' AND signup_date < TIMESTAMP '2025-01-10 00:00:00'
SELECT CAST("users"."signup_date" AS date) AS "signup_date", COUNT(*) AS "count" FROM "users" WHERE "users"."signup_date" >= DATE '2025-01-10' GROUP BY CAST("users"."signup_date" AS date) ORDER BY CAST("users"."signup_date" AS date) ASC
SELECT DATE_TRUNC('month', "public"."users"."signup_date") AS "signup_date", COUNT(*) AS "count" FROM "public"."users" WHERE ("public"."users"."signup_date" >= DATE_TRUNC('month', DATE '2024-12-14')) GROUP BY DATE_TRUNC('month', "public"."users"."signup_date") ORDER BY DATE_TRUNC('month', "public"."users"."signup_date") ASC
SELECT "source"."country" AS "country", SUM("source"."one") AS "sum" FROM (SELECT "users"."country" AS "country", 1 AS "one", "users"."plan" AS "plan" FROM "users" WHERE "users"."plan" <> 'free') AS "source" GROUP BY "source"."country" ORDER BY "source"."country" ASC
SELECT "source"."age_band" AS "age_band", COUNT(*) AS "count" FROM (SELECT FLOOR(("users"."age" / 10.0)) * 10.0 AS "age_band" FROM "users") AS "source" GROUP BY "source"."age_band" ORDER BY "source"."age_band" ASC
SELECT country AS country, COUNT(*) AS "COUNT(*)" FROM users GROUP BY country ORDER BY "COUNT(*)" DESC LIMIT 1000
!unsupported-condition SELECT DATE_TRUNC('week', ordered_on) AS __timestamp, SUM(amount) AS "SUM(amount)" FROM orders WHERE ordered_on >= TO_TIMESTAMP('2024-12-11 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND ordered_on < TO_TIMESTAMP('2025-01-11 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('week', ordered_on) ORDER BY "SUM(amount)" DESC LIMIT 10000
SELECT DATE_TRUNC('day', ordered_on) AS __timestamp, category AS category, COUNT(*) AS count FROM (SELECT * FROM orders WHERE returned = false) AS virtual_table WHERE ordered_on >= '2025-01-01 00:00:00.000000' AND ordered_on < '2025-01-05 00:00:00.000000' GROUP BY DATE_TRUNC('day', ordered_on), category ORDER BY count DESC LIMIT 50000
SELECT SUM(1) AS "sum:Number of Records:ok", "users"."country" AS "country" FROM "users" "users" GROUP BY 2
SELECT "users"."country" AS "country", SUM(1) AS "cnt:users:ok" FROM "public"."users" "users" WHERE ("users"."country" IN ('DE','FR')) GROUP BY 1
SELECT SUM(CAST("orders"."amount" AS DOUBLE PRECISION)) AS "sum:amount:ok", (CASE WHEN "orders"."returned" THEN 'returned' ELSE 'kept' END) AS "calc" FROM "orders" GROUP BY 2
SELECT COUNT(DISTINCT users.user_id) AS "users.count", users.country AS "users.country" FROM users WHERE (users.plan = 'pro') GROUP BY 2 ORDER BY 1 DESC LIMIT 500
SELECT DATE(orders.ordered_on) AS "orders.ordered_date", COALESCE(SUM(orders.amount), 0) AS "orders.total_revenue" FROM orders AS orders WHERE ((( orders.ordered_on ) >= ((TIMESTAMP '2024-12-24')) AND ( orders.ordered_on ) < ((TIMESTAMP '2024-12-31')))) GROUP BY 1 ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY
SELECT users.country AS "users.country", COALESCE(SUM(orders.amount), 0) AS "orders.revenue", COUNT(*) AS "orders.count" FROM orders LEFT JOIN users ON orders.user_id = users.user_id GROUP BY 1 ORDER BY 2 DESC LIMIT 500
select "_"."country", "_"."a0" from (select "rows"."country" as "country", count(1) as "a0" from (select "country", "plan" from "public"."users" "$Table") "rows" group by "country") "_" where not "_"."a0" is null
select "_"."category" as "category", sum("_"."amount") as "a0", avg(cast("_"."amount" as decimal)) as "a1" from "public"."orders" "_" group by "_"."category" limit 1000001
WITH src_orders AS (SELECT * FROM orders), stg AS (SELECT user_id, amount, category, ordered_on FROM src_orders WHERE NOT returned), final AS (SELECT date_trunc('month', ordered_on) AS order_month, category, SUM(amount) AS revenue, COUNT(*) AS orders FROM stg GROUP BY 1, 2) SELECT * FROM final ORDER BY order_month, category
WITH monthly AS (SELECT date_trunc('month', ordered_on) AS m, SUM(amount) AS rev FROM orders GROUP BY 1) SELECT m, rev, rev - LAG(rev) OVER (ORDER BY m) AS growth FROM monthly ORDER BY m
WITH monthly AS (SELECT date_trunc('month', ordered_on) AS m, SUM(amount) AS rev FROM orders GROUP BY 1) SELECT m, rev, 100.0 * (rev - LAG(rev) OVER (ORDER BY m)) / LAG(rev) OVER (ORDER BY m) AS pct FROM monthly ORDER BY m
WITH this_year AS (SELECT COUNT(*) AS n FROM users WHERE signup_date >= '2025-01-01'), last_year AS (SELECT COUNT(*) AS n FROM users WHERE signup_date < '2025-01-01') SELECT this_year.n AS now, last_year.n AS before, this_year.n * 1.0 / last_year.n AS ratio FROM this_year, last_year
WITH y25 AS (SELECT EXTRACT(MONTH FROM signup_date) AS mon, COUNT(*) AS n FROM users WHERE EXTRACT(YEAR FROM signup_date) = 2025 GROUP BY 1), y24 AS (SELECT EXTRACT(MONTH FROM signup_date) AS mon, COUNT(*) AS n FROM users WHERE EXTRACT(YEAR FROM signup_date) = 2024 GROUP BY 1) SELECT y25.mon, y25.n AS this_year, y24.n AS last_year FROM y25 JOIN y24 USING (mon) ORDER BY 1
WITH y25 AS (SELECT EXTRACT(MONTH FROM signup_date) AS mon, COUNT(*) AS n FROM users WHERE EXTRACT(YEAR FROM signup_date) = 2025 GROUP BY 1), y24 AS (SELECT EXTRACT(MONTH FROM signup_date) AS mon, COUNT(*) AS n FROM users WHERE EXTRACT(YEAR FROM signup_date) = 2024 GROUP BY 1) SELECT a.mon, a.n, b.n AS prev, (a.n - b.n) * 100.0 / b.n AS yoy FROM y25 a JOIN y24 b ON a.mon = b.mon
SELECT EXTRACT(MONTH FROM signup_date) AS mon, COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM signup_date) = 2025) AS y25, COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM signup_date) = 2024) AS y24 FROM users GROUP BY 1 ORDER BY 1
SELECT COUNT(*) AS n FROM users WHERE signup_date >= now() - interval '30 days' -- the clock
SELECT COUNT(*) AS n FROM users WHERE signup_date >= CURRENT_DATE - 30 -- the clock
SELECT COUNT(*) AS n FROM users WHERE signup_date BETWEEN '2025-01-01'::date AND '2025-01-31'::date
SELECT COUNT(*) AS n FROM users WHERE signup_date >= '2025-01-15'::timestamp
SELECT COUNT(*) AS n FROM users WHERE signup_date >= CAST('2025-01-15' AS DATE) - INTERVAL '1 month'
SELECT COUNT(*) AS n FROM users WHERE signup_date > date '2025-01-15' + 7
SELECT plan, AVG(age) AS a1, MEDIAN(age) AS a2, COUNT(age) AS a3, COUNT(*) - COUNT(age) AS missing FROM users GROUP BY plan ORDER BY plan
SELECT plan, COUNT(*) AS n FROM users GROUP BY plan ORDER BY CASE plan WHEN 'free' THEN 1 WHEN 'basic' THEN 2 ELSE 3 END
SELECT plan, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM users GROUP BY plan
SELECT country, plan, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY country), 2) AS share FROM users GROUP BY country, plan
SELECT country, n, RANK() OVER (ORDER BY n DESC) AS rk FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) t
SELECT * FROM (SELECT country, plan, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY country ORDER BY COUNT(*) DESC) AS rn FROM users GROUP BY 1, 2) WHERE rn = 1
!unsupported-window SELECT country, FIRST_VALUE(plan) OVER (PARTITION BY country ORDER BY COUNT(*) DESC) AS top FROM users GROUP BY country, plan
!unsupported-aggregate SELECT MAX(signup_date) FROM users
!unsupported-aggregate SELECT MIN(signup_date), MAX(signup_date) FROM users
!unsupported-aggregate SELECT country, MAX(age) FROM users GROUP BY country
!unsupported-subquery SELECT MAX(n) FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) t
SELECT MAX(plan) AS plan, COUNT(*) AS n FROM users GROUP BY plan
SELECT MIN(country) AS country, country AS c, COUNT(*) AS n FROM users GROUP BY country
SELECT COUNT(*) AS n FROM users WHERE age IN ('20', '22')
SELECT COUNT(*) AS n FROM users WHERE age >= '18'
SELECT COUNT(*) AS n FROM users WHERE age = 20.0
SELECT COUNT(*) AS n FROM users WHERE newsletter = 1
SELECT COUNT(*) AS n FROM users WHERE newsletter = 'true'
SELECT COUNT(*) AS n FROM users WHERE newsletter IS TRUE AND plan IN ('basic', 'pro')
SELECT SUM(CASE WHEN newsletter THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS rate FROM users
SELECT AVG(CASE WHEN newsletter THEN 1.0 ELSE 0 END) AS rate, AVG(newsletter::int) AS rate2 FROM users
SELECT platform, AVG(age) AS a1 FROM users WHERE platform IN ('ios', 'android') GROUP BY platform
SELECT app_version, COUNT(*) AS n FROM users GROUP BY app_version ORDER BY app_version
SELECT SPLIT_PART(app_version, '.', 1) AS major, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1
SELECT app_version || ' on ' || platform AS build, COUNT(*) AS n FROM users GROUP BY 1
!unsupported-subquery SELECT n_orders, COUNT(*) AS people FROM (SELECT user_id, COUNT(*) AS n_orders FROM orders GROUP BY user_id) t GROUP BY n_orders ORDER BY n_orders
SELECT AVG(total) AS ltv FROM (SELECT user_id, SUM(amount) AS total FROM orders GROUP BY user_id) t
SELECT country, AVG(total) AS ltv FROM users JOIN (SELECT user_id, SUM(amount) AS total FROM orders GROUP BY user_id) t USING (user_id) GROUP BY country
!unsupported-subquery SELECT COUNT(*) FROM (SELECT user_id FROM orders GROUP BY user_id HAVING COUNT(*) >= 2) t
SELECT COUNT(DISTINCT user_id) AS buyers, COUNT(*) AS orders, SUM(amount) / COUNT(DISTINCT user_id) AS arpu FROM orders
!count-distinct SELECT COUNT(DISTINCT country) FROM users
SELECT u.country, COUNT(DISTINCT o.user_id) AS buyers FROM users u JOIN orders o ON o.user_id = u.user_id GROUP BY u.country
SELECT u.country, COUNT(DISTINCT u.user_id) AS users, COUNT(o.user_id) AS orders FROM users u LEFT JOIN orders o USING (user_id) GROUP BY 1
SELECT COUNT(*) AS n FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.user_id)
SELECT COUNT(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.user_id WHERE o.user_id IS NULL
!unsupported-subquery SELECT COUNT(*) FROM users WHERE user_id IN (SELECT user_id FROM orders WHERE category = 'Books')
SELECT r.stars, COUNT(*) AS n, AVG(u.age) AS age FROM reviews r JOIN users u USING (user_id) GROUP BY r.stars ORDER BY r.stars
SELECT u.plan, AVG(r.stars) AS a1 FROM users AS u LEFT JOIN reviews AS r ON u.user_id = r.user_id AND r.verified GROUP BY u.plan
SELECT category, SUM(amount) AS revenue, SUM(SUM(amount)) OVER () AS total, SUM(amount) / SUM(SUM(amount)) OVER () AS share FROM orders GROUP BY category ORDER BY revenue DESC
SELECT category, SUM(amount) FILTER (WHERE NOT returned) AS net, SUM(amount) AS gross FROM orders GROUP BY category HAVING SUM(amount) > 100 ORDER BY 2 DESC
SELECT payment, COUNT(*) AS n FROM orders GROUP BY payment ORDER BY payment NULLS FIRST
SELECT COALESCE(payment, 'unknown') AS payment, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC
SELECT COALESCE(payment, 'unknown') AS payment, COUNT(*) AS n FROM orders GROUP BY payment
SELECT CASE WHEN amount < 5 THEN 'small' WHEN amount BETWEEN 5 AND 10 THEN 'medium' ELSE 'large' END AS basket, COUNT(*) AS n, AVG(amount) AS a FROM orders GROUP BY basket ORDER BY n
SELECT p.brand, SUM(p.price) AS list, SUM(o.amount) AS paid FROM orders o JOIN products p ON o.sku = p.sku GROUP BY p.brand ORDER BY paid DESC
SELECT p.brand, COUNT(*) AS n FROM orders o LEFT JOIN products p ON o.sku = p.sku GROUP BY 1
SELECT u.country, p.brand, SUM(o.amount) AS rev FROM orders o JOIN users u USING (user_id) JOIN products p USING (sku) WHERE o.ordered_on >= '2025-01-01' GROUP BY u.country, p.brand ORDER BY rev DESC LIMIT 5
SELECT strftime(ordered_on, '%Y-%m') AS ym, COUNT(*) AS n FROM orders GROUP BY ym ORDER BY ym
!unsupported-group SELECT to_char(ordered_on, 'YYYY-MM') AS ym, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT DAYNAME(ordered_on) AS d, COUNT(*) AS n FROM orders GROUP BY 1
SELECT EXTRACT(DAYOFWEEK FROM ordered_on) AS dow, AVG(amount) AS a1 FROM orders GROUP BY 1 ORDER BY 1
SELECT EXTRACT(WEEK FROM ordered_on) AS wk, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT date_part('year', ordered_on) * 100 + date_part('month', ordered_on) AS yyyymm, COUNT(*) AS n FROM orders GROUP BY 1
SELECT YEAR(ordered_on) AS y, QUARTER(ordered_on) AS q, SUM(amount) AS a2 FROM orders GROUP BY y, q ORDER BY y, q
SELECT ordered_on - INTERVAL 1 DAY AS d, COUNT(*) AS n FROM orders WHERE ordered_on > '2025-01-05' GROUP BY 1 ORDER BY 1
SELECT date_add(ordered_on, INTERVAL 1 DAY) AS d, COUNT(*) AS n FROM orders WHERE ordered_on > '2025-01-05' GROUP BY 1
SELECT DATE_TRUNC('week', signup_date)::date AS week, COUNT(*) AS signups, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('week', signup_date)::date) AS cumulative FROM users WHERE signup_date >= '2024-12-22' GROUP BY 1 ORDER BY 1
SELECT month, n, SUM(n) OVER (ORDER BY month) AS running FROM (SELECT date_trunc('month', signup_date) AS month, COUNT(*) AS n FROM users GROUP BY 1) t ORDER BY month
SELECT month, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma3 FROM (SELECT date_trunc('month', signup_date) AS month, COUNT(*) AS n FROM users GROUP BY 1) t ORDER BY month
SELECT COUNT(*) AS a, COUNT(*) FILTER (WHERE plan = 'pro') AS b, (COUNT(*) FILTER (WHERE plan = 'pro'))::float / COUNT(*) AS conversion FROM users
SELECT country, COUNT(*) AS total, COUNT(CASE WHEN plan = 'pro' THEN 1 END) AS pros, COUNT(CASE WHEN plan = 'pro' THEN 1 END) * 100.0 / NULLIF(COUNT(*), 0) AS pct FROM users GROUP BY country HAVING COUNT(*) > 10 ORDER BY pct DESC
SELECT 'users' AS metric, COUNT(*) AS value FROM users UNION ALL SELECT 'orders', COUNT(*) FROM orders UNION ALL SELECT 'revenue', SUM(amount) FROM orders
!not-a-select SELECT country FROM users EXCEPT SELECT country FROM users WHERE plan = 'pro'
!unsupported-union SELECT country, COUNT(*) FROM users WHERE plan = 'free' GROUP BY country UNION SELECT country, COUNT(*) FROM users WHERE plan = 'pro' GROUP BY country
SELECT DISTINCT country FROM users ORDER BY country
SELECT DISTINCT country, plan FROM users
!bad-share SELECT quantile_cont(amount, [0.25, 0.5, 0.75]) FROM orders
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount) AS p50, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY amount) AS p90 FROM orders
SELECT category, MEDIAN(amount) AS med FROM orders GROUP BY category HAVING MEDIAN(amount) > 4 ORDER BY med
!private-rows SELECT u.* FROM users u LIMIT 10
!private-rows SELECT * FROM users LIMIT 100
SELECT users.country, users.plan, COUNT(*) cnt FROM users GROUP BY users.country, users.plan HAVING cnt > 50
SELECT country, COUNT(*) AS country_count FROM users GROUP BY country ORDER BY COUNT(*) DESC, country
SELECT UPPER(country) AS country, COUNT(*) AS n FROM users GROUP BY country
SELECT LOWER(country) AS country, COUNT(*) AS n FROM users GROUP BY LOWER(country) ORDER BY 1
SELECT plan AS country, COUNT(*) AS n FROM users GROUP BY plan
!not-grouped SELECT plan AS country, COUNT(*) FROM users GROUP BY country
SELECT age AS plan, COUNT(*) AS n FROM users WHERE plan = 'pro' GROUP BY age ORDER BY plan LIMIT 3
SELECT count(*) AS "Number of Users (€)" FROM users
SELECT AVG(age) AS "avg", STDDEV(age) AS "stddev", VARIANCE(age) AS "var" FROM users WHERE age IS NOT NULL
SELECT CORR(amount, sku) AS a0 FROM orders
SELECT SUM(amount * 0.19) AS vat, SUM(amount) * 1.19 AS gross, ROUND(SUM(amount) / 1000, 2) AS k FROM orders
SELECT AVG(amount) - AVG(amount) FILTER (WHERE returned) AS diff FROM orders
SELECT GREATEST(AVG(amount), 10) AS a0, LEAST(COUNT(*), 100) AS a1 FROM orders
SELECT country, COUNT(*) AS n FROM users GROUP BY ROLLUP (country) ORDER BY country NULLS LAST
SELECT country, plan, COUNT(*) AS n, GROUPING(country) AS g FROM users GROUP BY CUBE (country, plan)
SELECT COALESCE(country, 'Total') AS country, COUNT(*) AS n FROM users GROUP BY ROLLUP (country)
SELECT country, COUNT(*) AS n FROM users WHERE country != 'US' AND NOT (plan = 'free' OR age < 20) GROUP BY 1
SELECT COUNT(*) AS n FROM users WHERE (age BETWEEN 18 AND 20) OR (age = 25)
SELECT COUNT(*) AS n FROM users WHERE age NOT BETWEEN 18 AND 20
SELECT COUNT(*) AS n FROM users WHERE country NOT IN ('US', 'DE') AND age IS NULL
!unsupported-subquery SELECT COUNT(*) FROM users WHERE age > (SELECT AVG(age) FROM users)
SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM users GROUP BY decade ORDER BY decade
SELECT CAST(age / 10 AS INTEGER) * 10 AS decade, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1
SELECT FLOOR(amount / 5) * 5 AS bin_floor, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
!unsupported SELECT country, COUNT(*) FROM users TABLESAMPLE 10% GROUP BY country
!unsupported-aggregate SELECT STRING_AGG(DISTINCT country, ', ') FROM users
SELECT COUNT(*) AS n FROM users, orders WHERE users.user_id = orders.user_id AND orders.amount > 5
!unsupported-join SELECT COUNT(*) FROM users NATURAL JOIN orders
SELECT u.country, SUM(o.amount) AS a1 FROM (SELECT * FROM users WHERE plan = 'pro') AS u INNER JOIN (SELECT * FROM orders WHERE NOT returned) AS o ON u.user_id = o.user_id GROUP BY u.country
SELECT cohort, COUNT(*) AS size, AVG(CASE WHEN plan <> 'free' THEN 1 ELSE 0 END) AS paid FROM (SELECT date_trunc('quarter', signup_date) AS cohort, plan FROM users) c GROUP BY cohort ORDER BY cohort
SELECT date_diff('day', DATE '2024-12-22', ordered_on) AS day_n, COUNT(*) AS n FROM orders WHERE ordered_on < '2024-12-25' GROUP BY 1 ORDER BY 1
!wrong-constant SELECT COUNT(*) AS n FROM users WHERE signup_date = '2025-02-30'
SELECT COUNT(*) AS n FROM users WHERE EXTRACT(YEAR FROM signup_date) = '2025'
!wrong-constant SELECT COUNT(*) FROM users WHERE signup_date LIKE '2025-01%'
SELECT COUNT(*) AS n FROM users WHERE CAST(signup_date AS VARCHAR) LIKE '2025-01%'
SELECT COUNT(*) AS n FROM users WHERE YEAR(signup_date) = 2025 AND MONTH(signup_date) IN (1, 2, 3)
SELECT last_day(signup_date) AS month_end, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1
SELECT make_date(2025, 1, 1) AS d, COUNT(*) AS n FROM users
SELECT epoch(signup_date) AS e, COUNT(*) AS n FROM users GROUP BY 1
SELECT ANY_VALUE(country) AS country, COUNT(*) AS n FROM users GROUP BY country
SELECT age + 1 AS age, COUNT(*) AS n FROM users GROUP BY age ORDER BY 1 LIMIT 4
SELECT plan, country, plan || '/' || country AS both, COUNT(*) AS n FROM users GROUP BY plan, country ORDER BY plan DESC, country
SELECT CASE WHEN plan = 'free' THEN 'no' ELSE 'yes' END AS pays, plan AS p, COUNT(*) AS n FROM users GROUP BY plan
SELECT CASE WHEN GROUPING(country) = 1 THEN 'All' ELSE country END AS country, COUNT(*) AS n FROM users GROUP BY ROLLUP (country) ORDER BY n
SELECT GROUPING(country) + GROUPING(plan) AS lvl, country, plan, COUNT(*) AS n FROM users GROUP BY CUBE (country, plan)
SELECT app_version, UPPER(app_version) AS v, SPLIT_PART(app_version, '.', 1)::int AS major, COUNT(*) AS n FROM users GROUP BY app_version
SELECT date_trunc('month', signup_date) AS m, EXTRACT(YEAR FROM date_trunc('month', signup_date)) AS y, strftime(date_trunc('month', signup_date), '%b') AS label, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1
SELECT country, 'x' AS tag, COUNT(*) AS n FROM users GROUP BY country, tag
SELECT platform, CASE platform WHEN 'web' THEN 'Browser' ELSE 'App' END AS kind, COUNT(*) AS n FROM users GROUP BY platform
SELECT age / 10 AS d, COUNT(*) AS n FROM users GROUP BY age HAVING COUNT(*) > 60 ORDER BY d
SELECT newsletter, NOT newsletter AS off, COUNT(*) AS n FROM users GROUP BY newsletter
SELECT COUNT(*) AS n, current_date AS today FROM users -- the clock
SELECT FLOOR(age / 10) * 10 || 's' AS decade, COUNT(*) AS n FROM users GROUP BY 1
SELECT amount // 10 AS b, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT ROUND(amount / 10) // 2 AS b, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT FLOOR(age / 7) // 2 AS b, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1
SELECT ROUND(age / 7) AS b, ROUND(age, -1) AS c, COUNT(*) AS n FROM users GROUP BY 1, 2
SELECT age // 2.0 AS b, COUNT(*) AS n FROM users GROUP BY 1
SELECT TRUNC(age / 7) || 'x' AS b, TRUNC(age) || 'y' AS c, COUNT(*) AS n FROM users GROUP BY 1, 2
SELECT CAST(FLOOR(age / 10) * 10 AS INT) || 's' AS decade, COUNT(*) AS n FROM users GROUP BY 1
SELECT COUNT(UPPER(app_version)) AS n, COUNT(platform || 'x') AS m FROM users
SELECT amount % 10 AS b, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT CAST(amount AS VARCHAR) AS b, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT amount::int // 3 AS b, SUM(FLOOR(amount / 7)) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT AVG(n_orders) AS a FROM (SELECT user_id, COUNT(*) AS n_orders FROM orders GROUP BY user_id) t
SELECT country, plan, CASE WHEN GROUPING(plan) = 1 THEN 'all plans' ELSE plan END AS shown, COUNT(*) AS n FROM users GROUP BY ROLLUP (country, plan)
SELECT ROUND(age / 7) // 2 AS half, COUNT(*) AS n FROM users GROUP BY 1
-- Subqueries and WITH: nothing of them may be left out of the one SELECT that they become.
WITH src AS (SELECT * FROM users), clean AS (SELECT user_id, COALESCE(country, 'none') AS country, UPPER(plan) AS plan, age * 2 AS age FROM src), more AS (SELECT *, CASE WHEN age < 42 THEN 'young' ELSE 'old' END AS band FROM clean), final AS (SELECT country, band, COUNT(*) AS people, AVG(age) AS mean FROM more GROUP BY country, band) SELECT * FROM final ORDER BY country, band
WITH c AS (SELECT UPPER(plan) AS plan, age + 1 AS age FROM users), d AS (SELECT * FROM c WHERE age > 20), e AS (SELECT *, age + 1 AS later FROM d) SELECT plan, AVG(age) AS a, AVG(later) AS b FROM e GROUP BY plan ORDER BY plan
WITH c AS (SELECT age * 2 AS age, user_id FROM users), d AS (SELECT *, stars + 1 AS more FROM c JOIN reviews USING (user_id)) SELECT AVG(age) AS a, AVG(more) AS m FROM d
WITH c AS (SELECT UPPER(country) AS country, user_id FROM users), d AS (SELECT c.*, stars FROM c JOIN reviews USING (user_id)) SELECT country, AVG(stars) AS s FROM d GROUP BY country
SELECT AVG(x.age) AS a FROM (SELECT x.* FROM (SELECT age + 1 AS age FROM users) x) x
WITH c AS (SELECT * REPLACE (UPPER(country) AS country) FROM users) SELECT country, COUNT(*) AS n FROM c GROUP BY country
WITH c AS (SELECT * EXCLUDE (age) FROM users), d AS (SELECT * RENAME (country AS land) FROM c) SELECT land, COUNT(*) AS n FROM d GROUP BY land
!ambiguous-column WITH c AS (SELECT *, UPPER(country) AS country FROM users) SELECT country, COUNT(*) AS n FROM c GROUP BY country
!ambiguous-column SELECT AVG(x) AS a FROM (SELECT age AS x, age + 1 AS x FROM users) t
WITH t(p, k) AS (SELECT country, COUNT(*) FROM users GROUP BY country) SELECT p, k FROM t WHERE k > 10 ORDER BY k
SELECT AVG(b) AS b, AVG(a) AS a FROM (SELECT sku, amount FROM orders) t(a, b)
WITH params AS (SELECT 20 AS low, 'pro' AS kind, DATE '2025-01-01' AS since) SELECT COUNT(*) AS n FROM users CROSS JOIN params WHERE age > low AND plan <> kind AND signup_date >= params.since
WITH x AS (SELECT country, platform, COUNT(*) AS n FROM users GROUP BY country, platform) SELECT country, platform, n FROM x QUALIFY ROW_NUMBER() OVER (PARTITION BY country ORDER BY n DESC) = 1
!unsupported-window SELECT COUNT(*) AS n FROM (SELECT * FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ordered_on DESC) = 1) t
!unsupported-window SELECT COUNT(*) AS n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ordered_on) AS rn FROM orders) t WHERE rn = 1
!unsupported-subquery SELECT * FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country ORDER BY n DESC LIMIT 3) t ORDER BY country
!unsupported-subquery SELECT country, n, SUM(n) OVER () AS total FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country ORDER BY n DESC LIMIT 3) t
!unsupported-subquery SELECT country, RANK() OVER (ORDER BY n) AS r FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country ORDER BY n DESC LIMIT 3) t
SELECT country, n * 2 AS twice FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country ORDER BY n DESC LIMIT 3) t
!unsupported-subquery SELECT d, n, share, LAG(n) OVER (ORDER BY d) AS before FROM (SELECT ordered_on AS d, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM orders GROUP BY 1) t WHERE d > '2025-01-01'
!unsupported-subquery SELECT country, n FROM (SELECT country, plan, COUNT(*) AS n FROM users GROUP BY country, plan QUALIFY ROW_NUMBER() OVER (PARTITION BY country ORDER BY COUNT(*) DESC) = 1) t QUALIFY RANK() OVER (ORDER BY n DESC) <= 2
!unsupported-subquery SELECT SUM(n) AS n FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY ROLLUP (country)) t
!unsupported-subquery SELECT country, n FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY CUBE (country)) t WHERE country IS NOT NULL
SELECT * FROM (SELECT category, COUNT(*) AS n FROM orders GROUP BY category) t PIVOT (SUM(n) FOR category IN ('Books', 'Food'))
!unsupported SELECT COUNT(*) AS n FROM (SELECT * FROM users USING SAMPLE 10%) t
!unsupported-subquery SELECT COUNT(*) AS n FROM (SELECT * FROM users) t TABLESAMPLE 10%
!unsupported-subquery WITH t AS (SELECT * FROM users) SELECT COUNT(*) AS n FROM t TABLESAMPLE 10 PERCENT
SELECT x.country, x.n, y.total FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) x CROSS JOIN (SELECT COUNT(*) AS total FROM users) y
SELECT category, SUM(amount) AS m, SUM(SUM(amount)) OVER w AS run FROM orders GROUP BY category WINDOW w AS (ORDER BY category)
!unsupported-window SELECT category, SUM(SUM(amount)) OVER w AS run FROM orders GROUP BY category
-- Sums over groups: by functions of their columns, in arithmetic, with FILTER, HAVING and ORDER BY.
WITH daily AS (SELECT ordered_on, COUNT(*) AS n, SUM(amount) AS spent FROM orders GROUP BY ordered_on) SELECT date_trunc('week', ordered_on) AS week, SUM(n) AS n, SUM(spent) / SUM(n) AS mean FROM daily GROUP BY 1 ORDER BY 1
WITH daily AS (SELECT ordered_on, COUNT(*) AS n FROM orders GROUP BY ordered_on), weekly AS (SELECT date_trunc('week', ordered_on) AS week, SUM(n) AS n FROM daily GROUP BY 1) SELECT week, n, n - LAG(n) OVER (ORDER BY week) AS more FROM weekly ORDER BY week
SELECT SUM(n) FILTER (WHERE plan = 'pro') AS pro, SUM(n) AS every FROM (SELECT plan, country, COUNT(*) AS n FROM users GROUP BY plan, country) t
SELECT country, SUM(n) AS n FROM (SELECT country, plan, COUNT(*) AS n FROM users GROUP BY 1, 2) t GROUP BY country HAVING SUM(n) > 100 ORDER BY SUM(n) DESC
SELECT y, SUM(n) AS n, SUM(SUM(n)) OVER (ORDER BY y) AS run FROM (SELECT EXTRACT(year FROM signup_date) AS y, plan, COUNT(*) AS n FROM users GROUP BY 1, 2) t GROUP BY y ORDER BY y
SELECT CASE WHEN age < 21 THEN 'young' ELSE 'old' END AS band, ROUND(100.0 * SUM(n) / 900, 1) AS share FROM (SELECT age, COUNT(*) AS n FROM users GROUP BY age) t GROUP BY 1 ORDER BY 1
!unsupported-subquery SELECT country, AVG(n) AS n FROM (SELECT country, plan, COUNT(*) AS n FROM users GROUP BY country, plan) t GROUP BY country
!unsupported-subquery SELECT SUM(n) AS n FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country HAVING COUNT(*) > 50) t
-- Joins: parentheses in ON, other names of the key, and columns that a subquery computes behind an outer join.
SELECT u.plan, COUNT(DISTINCT u.user_id) AS people FROM users u INNER JOIN orders o ON (u.user_id = o.user_id) GROUP BY 1
SELECT u.plan, COUNT(r.user_id) AS n FROM users u LEFT JOIN reviews r ON ((u.user_id = r.user_id) AND (r.stars > 3)) GROUP BY 1
SELECT SUM(twice) AS t FROM users u LEFT JOIN (SELECT user_id AS id, stars * 2 AS twice FROM reviews WHERE verified) r ON r.id = u.user_id
!unsupported-subquery SELECT flag, COUNT(*) AS n FROM users LEFT JOIN (SELECT user_id, 1 AS flag FROM reviews) r USING (user_id) GROUP BY flag
!unsupported-subquery SELECT SUM(flag) AS n FROM users LEFT JOIN (SELECT user_id, 1 AS flag FROM reviews) r USING (user_id)
!unsupported-subquery SELECT COUNT(*) AS n FROM users u LEFT JOIN (SELECT user_id, stars IS NULL AS none FROM reviews) r USING (user_id) WHERE none
!unsupported-subquery WITH s AS (SELECT user_id, CASE WHEN stars > 3 THEN 'good' ELSE 'bad' END AS kind FROM reviews) SELECT kind, COUNT(*) AS n FROM users LEFT JOIN s USING (user_id) GROUP BY kind
!unsupported-subquery SELECT plan, AVG(paid) AS a FROM users LEFT JOIN (SELECT user_id, COALESCE(amount, 3) AS paid FROM orders) o USING (user_id) GROUP BY plan
-- Dimensions: rows without a match stay behind LEFT JOIN, and FROM may begin with the dimension.
SELECT COALESCE(p.category, 'none') AS c, SUM(o.amount) AS m, COUNT(p.brand) AS k FROM orders o LEFT JOIN products p USING (sku) GROUP BY 1 ORDER BY 1
SELECT COUNT(*) AS n FROM orders o LEFT JOIN products p ON o.sku = p.sku WHERE p.sku IS NULL
SELECT COUNT(*) AS n FROM orders o LEFT JOIN products p ON o.sku = p.sku WHERE NOT p.brand = 'B2'
SELECT COUNT(*) AS n FROM orders o LEFT JOIN products p ON o.sku = p.sku WHERE p.brand = 'B2' OR p.brand IS NULL
SELECT p.brand = 'B2' AS b, AVG(amount) AS a, AVG(price) AS p FROM orders o LEFT JOIN products p ON o.sku = p.sku GROUP BY 1
SELECT SUM(COALESCE(price, 0) * amount) AS m FROM orders LEFT JOIN products USING (sku)
SELECT u.country, p.brand, COUNT(*) AS n, COUNT(o.user_id) AS k FROM users u LEFT JOIN orders o USING (user_id) LEFT JOIN products p ON p.sku = o.sku GROUP BY 1, 2
SELECT brand, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM orders LEFT JOIN products USING (sku) GROUP BY brand
WITH p AS (SELECT sku, UPPER(brand) AS name FROM products) SELECT name, COUNT(*) AS n FROM orders o LEFT JOIN p ON o.sku = p.sku GROUP BY name
SELECT p.brand, u.plan, COUNT(*) AS n FROM products p JOIN orders o ON o.sku = p.sku JOIN users u ON u.user_id = o.user_id GROUP BY p.brand, u.plan
SELECT p.brand, COUNT(*) AS n FROM products p, orders o WHERE p.sku = o.sku AND o.returned GROUP BY p.brand
SELECT p.brand, COUNT(*) AS n FROM products p RIGHT JOIN orders o USING (sku) GROUP BY p.brand
!unsupported-join SELECT p.brand, COUNT(o.user_id) AS n FROM products p LEFT JOIN orders o ON o.sku = p.sku GROUP BY p.brand
!unsupported-join SELECT p.brand, COUNT(o.user_id) AS n FROM orders o FULL JOIN products p ON o.sku = p.sku GROUP BY p.brand
!unsupported-join SELECT p.brand, COUNT(*) AS n FROM orders o LEFT JOIN products p ON o.sku = p.sku AND p.price > 3 GROUP BY p.brand
!unsupported-join SELECT brand, COUNT(*) AS n FROM orders LEFT JOIN (SELECT sku, brand FROM products WHERE price > 3) p USING (sku) GROUP BY brand
!unknown-table SELECT COUNT(*) AS n FROM products
SELECT time_bucket('7 days', ordered_on) AS week, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1
SELECT COUNT(*) AS n FROM orders WHERE payment IS NOT NULL AND (payment <> '' OR payment IS NULL)
SELECT COUNT(*) AS n FROM orders WHERE payment NOT IN ('', 'card')
SELECT "t1"."country", COUNT(*) AS "n", COUNT(DISTINCT "t1"."user_id") AS u FROM (SELECT * FROM "users" AS "t0" WHERE "t0"."plan" = 'pro') AS "t1" GROUP BY 1
SELECT "t2"."country", COUNT(*) AS "n" FROM (SELECT * FROM (SELECT * FROM "users" AS "t0" WHERE "t0"."plan" = 'pro') AS "t1" WHERE "t1"."country" <> 'DE') AS "t2" GROUP BY 1
SELECT t4.country, SUM(t4.amount) AS s FROM (SELECT * FROM (SELECT t0.*, t1.amount, t1.returned FROM users AS t0 INNER JOIN orders AS t1 ON t0.user_id = t1.user_id) AS t3 WHERE t3.returned = false) AS t4 GROUP BY 1
-- Joins of groups: each subquery is answered, and rows with equal groups are put together.
WITH u AS (SELECT country, COUNT(*) AS people FROM users GROUP BY country), o AS (SELECT country, SUM(amount) AS spent FROM users JOIN orders USING (user_id) GROUP BY country) SELECT u.country, people, spent, spent / people AS each FROM u JOIN o ON o.country = u.country ORDER BY each DESC
SELECT a.country, a.n, b.n AS pros, ROUND(100.0 * b.n / NULLIF(a.n, 0), 1) AS pct FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) a LEFT JOIN (SELECT country, COUNT(*) AS n FROM users WHERE plan = 'pro' GROUP BY country) b USING (country) ORDER BY pct DESC
WITH d AS (SELECT ordered_on, COUNT(*) AS n FROM orders GROUP BY ordered_on) SELECT x.ordered_on, x.n, y.n AS before, x.n - y.n AS more FROM d x LEFT JOIN d y ON y.ordered_on = x.ordered_on - INTERVAL 1 DAY ORDER BY x.ordered_on
WITH d AS (SELECT ordered_on, COUNT(*) AS n FROM orders GROUP BY ordered_on) SELECT x.ordered_on, COALESCE(y.n, 0) AS week_later FROM d x, d y WHERE y.ordered_on = x.ordered_on + 7 AND x.n > 10 ORDER BY week_later DESC, 1 LIMIT 5
SELECT * FROM (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) a JOIN (SELECT plan, AVG(age) AS age FROM users GROUP BY plan) b USING (plan) ORDER BY plan DESC
SELECT COALESCE(a.platform, b.platform) AS platform, a.n, b.n AS m FROM (SELECT platform, COUNT(*) AS n FROM users WHERE platform <> 'web' GROUP BY platform) a FULL JOIN (SELECT platform, COUNT(*) AS n FROM users WHERE platform <> 'ios' GROUP BY platform) b ON a.platform = b.platform ORDER BY 1
SELECT x.category, x.m, y.m AS kept FROM (SELECT category, MEDIAN(amount) AS m FROM orders GROUP BY category) x JOIN (SELECT category, MEDIAN(amount) AS m FROM orders WHERE NOT returned GROUP BY category) y ON x.category = y.category
!unsupported-subquery SELECT a.country FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) a JOIN (SELECT country, COUNT(*) AS n FROM users GROUP BY country) b ON a.n = b.n
!unsupported-subquery SELECT a.country FROM (SELECT country, COUNT(*) AS n FROM users GROUP BY country) a JOIN (SELECT country, COUNT(*) AS n FROM users GROUP BY country) b ON a.country <> b.country
!unsupported-subquery SELECT a.plan FROM (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) a JOIN (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) b USING (plan) WHERE a.plan > 'free'
!unsupported-subquery SELECT SUM(a.n) AS n FROM (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) a JOIN (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) b USING (plan)
!ambiguous-column SELECT n FROM (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) a JOIN (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) b USING (plan)
!unknown-column SELECT a.k FROM (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) a JOIN (SELECT plan, COUNT(*) AS n FROM users GROUP BY plan) b USING (plan)
-- Pivots, as statements, as tables and of groups; first and last groups of a window.
PIVOT users ON plan IN ('free', 'pro') USING COUNT(*) GROUP BY country
PIVOT users ON plan IN ('free', 'pro') USING COUNT(*) AS n, AVG(age) AS a GROUP BY country
PIVOT users ON plan IN ('free', 'pro') USING COUNT(*), AVG(age) GROUP BY country
SELECT * FROM users PIVOT (AVG(age) FOR plan IN ('free', 'pro' AS paid) GROUP BY country) ORDER BY country
SELECT p.country, p.b FROM (SELECT country, plan, age FROM users WHERE age > 30) PIVOT (SUM(age) FOR plan IN ('free' AS b)) AS p ORDER BY 1
WITH c AS (SELECT country, plan, COUNT(*) AS n FROM users GROUP BY country, plan) SELECT * FROM c PIVOT (SUM(n) FOR plan IN ('free', 'pro') GROUP BY country) ORDER BY country
WITH c AS (SELECT country, plan, COUNT(*) AS n FROM users GROUP BY country, plan) SELECT country, SUM(CASE WHEN plan = 'free' THEN n END) AS free, SUM(CASE WHEN plan = 'pro' THEN n ELSE 0 END) AS pro, SUM(n) AS n FROM c GROUP BY country ORDER BY country
WITH c AS (SELECT country, plan, AVG(age) AS a FROM users GROUP BY country, plan) SELECT country, MAX(CASE WHEN plan = 'free' THEN a END) AS free, MIN(a) FILTER (WHERE plan = 'pro') AS pro FROM c GROUP BY country ORDER BY country
WITH c AS (SELECT country, plan, MEDIAN(age) AS a FROM users GROUP BY country, plan) SELECT country, ANY_VALUE(CASE plan WHEN 'free' THEN a END) AS free FROM c GROUP BY country ORDER BY country
WITH c AS (SELECT country, plan, SUM(age) / COUNT(*) AS a FROM users GROUP BY country, plan) SELECT country, SUM(CASE WHEN plan = 'free' THEN a ELSE 0 END) AS free FROM c GROUP BY country ORDER BY country
SELECT country, COUNT(*) AS n, FIRST_VALUE(COUNT(*)) OVER (ORDER BY country) AS first, COUNT(*) - LAST_VALUE(COUNT(*)) OVER (ORDER BY country ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS less FROM users GROUP BY country ORDER BY country
SELECT country, plan, AVG(age) AS a, FIRST_VALUE(AVG(age)) OVER (PARTITION BY country ORDER BY plan DESC) AS first, LAST_VALUE(AVG(age)) OVER (PARTITION BY country ORDER BY plan) AS own FROM users GROUP BY country, plan ORDER BY country, plan
!unsupported-pivot PIVOT users ON plan USING COUNT(*) GROUP BY country
!unsupported-pivot PIVOT users ON plan IN ('free') USING COUNT(*)
!not-readable PIVOT users ON plan IN ('free') USING COUNT(*) GROUP BY country ORDER BY country
!unsupported-subquery SELECT * FROM users PIVOT (COUNT(*) FOR plan IN ('free'))
!unsupported-subquery SELECT * FROM users UNPIVOT (v FOR k IN (age))
!unknown-value SELECT * FROM users PIVOT (COUNT(*) FOR plan IN ('gold') GROUP BY country)
!unsupported-aggregate SELECT * FROM users PIVOT (MAX(age) FOR plan IN ('free') GROUP BY country)
!unsupported-subquery WITH c AS (SELECT country, plan, AVG(age) AS a FROM users GROUP BY ALL) SELECT country, MAX(CASE WHEN plan = 'free' OR country = 'DE' THEN a END) AS b FROM c GROUP BY country
!unsupported-subquery WITH c AS (SELECT country, plan, platform, AVG(age) AS a FROM users GROUP BY ALL) SELECT country, MAX(CASE WHEN plan = 'free' THEN a END) AS b FROM c GROUP BY country
!unsupported-subquery WITH c AS (SELECT country, plan, AVG(age) AS a FROM users GROUP BY ALL) SELECT country, MAX(CASE WHEN plan = 'free' THEN a ELSE 0 END) AS b FROM c GROUP BY country
!unsupported-subquery WITH c AS (SELECT country, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r FROM users GROUP BY country) SELECT CASE WHEN r <= 2 THEN country ELSE 'Others' END AS c, SUM(n) AS n FROM c GROUP BY 1
!unsupported-window SELECT ordered_on, COUNT(*) AS n, FIRST_VALUE(COUNT(*)) OVER (ORDER BY COUNT(*)) AS f FROM orders GROUP BY ordered_on
!table-function SELECT s.d, COUNT(*) FROM generate_series(DATE '2026-02-01', DATE '2026-02-10', INTERVAL 1 DAY) s(d) LEFT JOIN orders ON orders.ordered_on = s.d GROUP BY 1
!table-function WITH days AS (SELECT unnest(generate_series(1, 3)) AS d) SELECT d FROM days
!table-function SELECT COUNT(*) AS n FROM read_csv('x.csv')
