-- One row per visitor with public columns: the shapes of ClickBench.
SELECT COUNT(*) AS n FROM hits
SELECT COUNT(*) AS n FROM hits WHERE width <> 0
SELECT SUM(width) AS s, COUNT(*) AS n, AVG(duration) AS a FROM hits
SELECT AVG(duration) AS a FROM hits
SELECT COUNT(DISTINCT uid) AS people FROM hits
SELECT engine, COUNT(*) AS n FROM hits WHERE engine IS NOT NULL GROUP BY engine ORDER BY n DESC
SELECT region, COUNT(DISTINCT uid) AS u FROM hits GROUP BY region ORDER BY u DESC LIMIT 3
SELECT region, SUM(width) AS s, COUNT(*) AS c, AVG(duration) AS a FROM hits GROUP BY region ORDER BY c DESC
SELECT os, COUNT(*) AS n FROM hits WHERE os <> 'linux' GROUP BY os ORDER BY n DESC
SELECT os, engine, COUNT(*) AS n FROM hits GROUP BY os, engine ORDER BY os, n DESC
SELECT engine, COUNT(*) AS n FROM hits WHERE engine LIKE '%o%' GROUP BY engine ORDER BY engine
SELECT COUNT(*) AS n FROM hits WHERE engine LIKE '%google%'
SELECT COUNT(*) AS n FROM hits WHERE engine NOT LIKE '%google%'
SELECT engine, COUNT(*) AS n, AVG(duration) AS a FROM hits WHERE os = 'linux' AND engine <> 'bing' GROUP BY engine ORDER BY engine
SELECT channel_name, COUNT(*) AS n FROM hits GROUP BY channel_name ORDER BY n DESC
SELECT channel_name, AVG(width) AS a, STDDEV(width) AS s FROM hits GROUP BY channel_name ORDER BY channel_name
SELECT channel_name, region, COUNT(*) AS n FROM hits WHERE duration > 10 GROUP BY channel_name, region ORDER BY channel_name, region
SELECT COUNT(*) AS n FROM hits WHERE channel_name = 'ads' AND os = 'android'
SELECT COUNT(*) AS n FROM hits WHERE channel_name LIKE 'a%'
SELECT COUNT(*) AS n FROM hits WHERE channel_name IN ('ads', 'mail') OR os = 'linux'
SELECT COUNT(*) AS n FROM hits WHERE visits_before > 2
SELECT SUM(visits_before) AS s, AVG(visits_before) AS a FROM hits WHERE os = 'linux'
SELECT visits_before, COUNT(*) AS n FROM hits GROUP BY visits_before ORDER BY visits_before
SELECT os, SUM(visits_before * duration) AS s FROM hits GROUP BY os ORDER BY os
SELECT SUM(width + 1) AS a, SUM(width + 2) AS b, SUM(width + 3) AS c FROM hits
SELECT SUM(width * 2 - duration) AS s FROM hits
SELECT MEDIAN(duration) AS m, QUANTILE(duration, 0.95) AS p FROM hits
SELECT region, MEDIAN(duration) AS m FROM hits GROUP BY region ORDER BY m DESC
SELECT channel_name, QUANTILE_CONT(duration, 0.9) AS p FROM hits GROUP BY channel_name ORDER BY channel_name
SELECT APPROX_QUANTILE(duration, 0.5) AS m FROM hits --no-duckdb
SELECT QUANTILE_CONT(width, 0.5) FILTER (WHERE os = 'linux') AS m FROM hits
SELECT duration // 10 AS bucket, COUNT(*) AS n FROM hits GROUP BY bucket ORDER BY bucket
SELECT CASE WHEN duration < 5 THEN 'bounce' ELSE 'stay' END AS kind, COUNT(*) AS n FROM hits GROUP BY kind ORDER BY kind
SELECT CASE WHEN duration < 5 THEN 'bounce' ELSE 'stay' END AS kind, os, COUNT(*) AS n FROM hits GROUP BY 1, 2 ORDER BY 1, 2
SELECT AVG(CASE WHEN duration < 5 THEN 1.0 ELSE 0.0 END) AS bounce FROM hits
SELECT os, AVG((duration < 5)::INT) AS bounce FROM hits GROUP BY os ORDER BY os
SELECT os, COUNT_IF(duration < 5) / COUNT(*) AS bounce FROM hits GROUP BY os ORDER BY bounce DESC
SELECT CASE os WHEN 'ios' THEN 'phone' WHEN 'android' THEN 'phone' ELSE 'desk' END AS device, COUNT(*) AS n FROM hits GROUP BY device ORDER BY device
SELECT IF(os = 'linux', 'free', 'other') AS kind, COUNT(*) AS n FROM hits GROUP BY kind ORDER BY kind
SELECT COALESCE(engine, 'direct') AS source, COUNT(*) AS n FROM hits GROUP BY source ORDER BY n DESC
SELECT engine, COUNT(*) AS n FROM hits GROUP BY engine ORDER BY engine
SELECT COUNT(engine) AS known, COUNT(*) AS n, COUNT(engine) / COUNT(*) AS share FROM hits
SELECT COUNT(*) AS n FROM hits WHERE engine IS NULL
SELECT COUNT(*) AS n FROM hits WHERE engine IS DISTINCT FROM 'google'
SELECT COUNT(*) AS n FROM hits WHERE COALESCE(engine, 'none') <> 'google'
SELECT width * duration AS area, COUNT(*) AS n FROM hits WHERE width < 3 AND duration < 4 GROUP BY area ORDER BY area
SELECT COUNT(*) AS n FROM hits WHERE width * 3 > duration
SELECT COUNT(*) AS n FROM hits WHERE width + duration = 30
SELECT COUNT(*) AS n FROM hits WHERE duration > width
SELECT COUNT(*) AS n FROM hits WHERE duration = width OR os = 'ios'
SELECT COUNT(*) AS n FROM hits WHERE abs(width - 10) <= 2
SELECT COUNT(*) AS n FROM hits WHERE round(duration / 7.0) = 3
SELECT COUNT(*) AS n FROM hits WHERE greatest(width, 5) > 7 AND least(duration, 9) = 9
SELECT AVG(ln(duration + 1)) AS a, SUM(sqrt(width)) AS s FROM hits
SELECT AVG(duration / (width + 1)) AS a FROM hits
SELECT SUM(duration % 7) AS s FROM hits
SELECT CORR(width, duration) AS r FROM hits
SELECT os, CORR(width, duration) AS r FROM hits GROUP BY os ORDER BY os
SELECT REGR_SLOPE(duration, width) AS s FROM hits WHERE os <> 'ios'
SELECT COVAR_POP(width, duration) AS c, COVAR_SAMP(width, duration) AS d FROM hits
SELECT VAR_POP(duration) AS v, STDDEV_SAMP(duration) AS s FROM hits
SELECT SUM(duration) / SUM(width) AS ratio FROM hits
SELECT os, SUM(duration) / SUM(SUM(duration)) OVER () AS share FROM hits GROUP BY os ORDER BY share DESC
SELECT os, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent FROM hits GROUP BY os ORDER BY os
SELECT os, COUNT(*) AS n FROM hits GROUP BY os HAVING COUNT(*) BETWEEN 10 AND 100000 ORDER BY os
SELECT os, AVG(duration) AS a FROM hits GROUP BY os HAVING COUNT(*) > 50 AND AVG(duration) > 1 ORDER BY a
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY AVG(duration) DESC LIMIT 2
SELECT upper(os) AS os, COUNT(*) AS n FROM hits GROUP BY upper(os) ORDER BY 1
SELECT left(os, 1) AS letter, COUNT(*) AS n FROM hits GROUP BY letter ORDER BY letter
SELECT concat(os, '-', region) AS pair, COUNT(*) AS n FROM hits GROUP BY pair ORDER BY pair
SELECT starts_with(os, 'l') AS free, COUNT(*) AS n FROM hits GROUP BY free ORDER BY free
SELECT os = 'linux' AS free, COUNT(*) AS n FROM hits GROUP BY free ORDER BY free
SELECT length(os) AS letters, AVG(duration) AS a FROM hits GROUP BY letters ORDER BY letters
SELECT COUNT(*) AS n FROM hits WHERE os IN ('linux', 'ios') AND region IN ('EU') AND duration BETWEEN 3 AND 30
SELECT COUNT(*) AS n FROM hits WHERE NOT os IN ('linux', 'ios')
SELECT COUNT(*) AS n FROM hits WHERE (os = 'linux' AND region = 'EU') OR (os = 'ios' AND region = 'US')
SELECT COUNT(*) AS n FROM hits WHERE TRUE
SELECT SUM(CASE WHEN os = 'linux' THEN duration END) AS s, AVG(CASE WHEN os = 'linux' THEN duration END) AS a FROM hits
SELECT SUM(CASE WHEN channel_name = 'ads' THEN duration ELSE 0 END) AS s FROM hits
SELECT channel_name, COUNT(*) FILTER (WHERE os = 'linux') AS n FROM hits GROUP BY channel_name ORDER BY channel_name
WITH mobile AS (SELECT * FROM hits WHERE os IN ('ios', 'android')) SELECT region, COUNT(*) AS n FROM mobile GROUP BY region ORDER BY region
WITH m AS (SELECT os, duration * 60 AS seconds FROM hits) SELECT os, AVG(seconds) AS a FROM m GROUP BY os ORDER BY os
WITH m AS (SELECT os, AVG(duration) AS a, COUNT(*) AS n FROM hits GROUP BY os) SELECT os, ROUND(a, 1) AS a FROM m WHERE os <> 'ios' ORDER BY os
SELECT os, n FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) WHERE n > 20 ORDER BY os
SELECT SUM(n) AS n FROM (SELECT os, region, COUNT(*) AS n FROM hits GROUP BY os, region) t
SELECT * FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t ORDER BY os
SELECT h.os, COUNT(*) AS n FROM hits h WHERE h.duration >= 10 GROUP BY h.os ORDER BY h.os
SELECT os AS "the os", COUNT(*) AS "how many" FROM hits GROUP BY os ORDER BY "how many" DESC
SELECT DISTINCT os FROM hits ORDER BY os
SELECT DISTINCT os, region FROM hits ORDER BY os, region
SELECT COUNT(*) + 0 AS n, -COUNT(*) AS m, COUNT(*) * 2 AS k FROM hits
SELECT CAST(AVG(duration) AS INTEGER) AS a, CAST(COUNT(*) AS DOUBLE) AS n FROM hits
SELECT GREATEST(AVG(duration), 5) AS a, LEAST(AVG(duration), 5) AS b FROM hits
SELECT 1 AS one
SELECT 1 + 2 AS three, 'x' AS letter
!unsupported-aggregate SELECT MAX(duration), MIN(duration) FROM hits
!unsupported-aggregate SELECT os, ANY_VALUE(region) FROM hits GROUP BY os
SELECT HISTOGRAM(duration) AS n FROM hits --no-duckdb
!unsupported-aggregate SELECT ARG_MAX(os, duration) FROM hits
!unsupported-aggregate SELECT BOOL_OR(duration > 5) FROM hits
!bad-share SELECT QUANTILE(duration, 1.5) FROM hits
!unknown-table SELECT COUNT(*) FROM hit
!unknown-column SELECT COUNT(*) FROM hits WHERE browser = 'x'
!no-order SELECT COUNT(*) FROM hits WHERE os > 'a'
!not-a-number SELECT AVG(os) FROM hits
!not-grouped SELECT os, region, COUNT(*) FROM hits GROUP BY os
!private-rows SELECT * FROM hits LIMIT 10
!not-a-select DELETE FROM hits
!not-a-number SELECT MEDIAN(channel_name) FROM hits
!divides-by-zero SELECT SUM(duration / width) FROM hits
!wrong-constant SELECT COUNT(*) FROM hits WHERE lower(os) > 3
!unsupported-subquery SELECT COUNT(*) FROM hits WHERE os IN (SELECT os FROM hits)
SELECT COUNT(*) AS n FROM hits WHERE regexp_matches(os, 'l.*')
-- What BI tools and dbt write, with windows, sets of groups, subqueries and other spellings.
SELECT "hits"."os" AS "os", COUNT(*) AS "count" FROM "hits" GROUP BY "hits"."os" ORDER BY "hits"."os" ASC
SELECT os AS os, COUNT(*) AS "COUNT(*)" FROM main.hits GROUP BY os ORDER BY "COUNT(*)" DESC LIMIT 1000
SELECT os AS os, sum(duration) AS "SUM(duration)" FROM hits WHERE region IN ('EU') GROUP BY os ORDER BY "SUM(duration)" DESC LIMIT 10000 OFFSET 0
SELECT hits.os AS "hits.os", COUNT(DISTINCT hits.uid) AS "hits.count", COALESCE(SUM(hits.duration), 0) AS "hits.total" FROM hits AS hits GROUP BY 1 ORDER BY 2 DESC LIMIT 500
SELECT "hits"."os" AS "os", SUM(1) AS "cnt:hits:ok" FROM "hits" "hits" GROUP BY 1
SELECT SUM(1) AS n FROM hits HAVING COUNT(1) > 0
SELECT COUNT(1) AS n FROM hits
SELECT os, COUNT(*) AS n FROM hits GROUP BY ALL ORDER BY n DESC
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY n DESC NULLS LAST
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY os NULLS FIRST
SELECT engine, COUNT(*) AS n FROM hits GROUP BY engine ORDER BY engine NULLS FIRST
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY n DESC LIMIT 2 OFFSET 1
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY ALL
SELECT os, COUNT(*) AS n FROM hits GROUP BY os HAVING n > 300 ORDER BY n
SELECT os, COUNT(*) AS n FROM hits GROUP BY os QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) <= 2
SELECT os, region, COUNT(*) AS n FROM hits GROUP BY os, region QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY COUNT(*) DESC) = 1
SELECT os, region, COUNT(*) AS n FROM hits GROUP BY ROLLUP (os, region)
SELECT os, region, COUNT(*) AS n FROM hits GROUP BY CUBE (os, region)
SELECT os, region, COUNT(*) AS n FROM hits GROUP BY GROUPING SETS ((os), (region), ())
SELECT COUNT(*) AS n FROM hits WHERE width BETWEEN SYMMETRIC 10 AND 5 --no-duckdb
SELECT COUNT(*) AS n FROM hits WHERE width NOT BETWEEN 5 AND 10
SELECT COUNT(*) AS n FROM hits WHERE NOT (width BETWEEN 5 AND 10 OR os = 'ios')
SELECT COUNT(*) AS n FROM hits WHERE (os, region) IN (('ios', 'EU'), ('linux', 'US'))
SELECT COUNT(*) AS n FROM hits WHERE engine = 'google' IS TRUE
SELECT COUNT(*) AS n FROM hits WHERE (engine = 'google') IS NOT TRUE
SELECT COUNT(*) AS n FROM hits WHERE engine NOT IN ('google', 'bing')
SELECT COUNT(*) AS n FROM hits WHERE NOT engine = 'google'
SELECT COUNT(*) AS n FROM hits WHERE engine IS NOT DISTINCT FROM NULL
SELECT COUNT(*) AS n FROM hits WHERE NULLIF(engine, 'google') IS NULL
SELECT COUNT(*) AS n FROM hits WHERE engine ILIKE 'G%'
SELECT COUNT(*) AS n FROM hits WHERE os SIMILAR TO '(ios|android)'
SELECT COUNT(*) AS n FROM hits WHERE regexp_matches(os, '^i')
SELECT COUNT(*) AS n FROM hits WHERE os ~ 'i.*'
SELECT COUNT(*) AS n FROM hits WHERE os = ANY(['ios', 'linux'])
SELECT COUNT(*) AS n FROM hits WHERE starts_with(os, 'i') OR suffix(os, 'x')
SELECT COUNT(*) AS n FROM hits WHERE 1 = 1 AND os = 'ios'
SELECT COUNT(*) AS n FROM hits WHERE FALSE OR os = 'ios'
SELECT COUNT(*) FILTER (WHERE os = 'ios') * 100.0 / COUNT(*) AS pct FROM hits
SELECT os, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM hits GROUP BY os ORDER BY pct DESC
SELECT os, region, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY os) AS share FROM hits GROUP BY os, region
WITH base AS (SELECT os, duration FROM hits WHERE region = 'EU'), agg AS (SELECT os, COUNT(*) AS n, SUM(duration) AS total FROM base GROUP BY os) SELECT os, total / n AS mean FROM agg WHERE n > 10 ORDER BY mean DESC
WITH source AS (SELECT * FROM hits), renamed AS (SELECT uid AS visitor_id, os AS operating_system, duration AS seconds FROM source), final AS (SELECT operating_system, COUNT(*) AS visits, AVG(seconds) AS mean_seconds FROM renamed GROUP BY 1) SELECT * FROM final
WITH a AS (SELECT os, COUNT(*) AS n FROM hits GROUP BY os), t AS (SELECT COUNT(*) AS total FROM hits) SELECT a.os, a.n / t.total AS share FROM a CROSS JOIN t
SELECT os, COUNT(*) / (SELECT COUNT(*) FROM hits) AS share FROM hits GROUP BY os
SELECT t.os, t.n FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t WHERE t.n > 500 ORDER BY t.n DESC
!unsupported-subquery SELECT COUNT(*) AS n FROM (SELECT DISTINCT os FROM hits) t
!unsupported-subquery SELECT AVG(n) AS a FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t
!unsupported-subquery SELECT MAX(n) AS a FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t
!unsupported-aggregate SELECT CASE WHEN duration < 10 THEN '0-9' WHEN duration < 20 THEN '10-19' WHEN duration < 30 THEN '20-29' ELSE '30+' END AS bucket, COUNT(*) AS n, AVG(width) AS w FROM hits GROUP BY bucket ORDER BY MIN(duration)
SELECT CASE WHEN duration < 10 THEN '0-9' ELSE '10+' END AS "Bucket", COUNT(*) AS "N" FROM hits GROUP BY "Bucket" HAVING COUNT(*) > 10
SELECT FLOOR(duration / 5) * 5 AS bin, COUNT(*) AS n FROM hits GROUP BY bin ORDER BY bin
SELECT (duration / 5)::INT AS bin, COUNT(*) AS n FROM hits GROUP BY 1
SELECT FLOOR(("hits"."duration" / 5.0)) * 5.0 AS "duration", COUNT(*) AS "count" FROM "hits" GROUP BY FLOOR(("hits"."duration" / 5.0)) * 5.0 ORDER BY FLOOR(("hits"."duration" / 5.0)) * 5.0 ASC
SELECT os, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM hits h WHERE h.region = 'EU') AS pct FROM hits WHERE region = 'EU' GROUP BY os
WITH a AS (SELECT os, COUNT(*) AS n FROM hits GROUP BY os), t AS (SELECT COUNT(*) AS total, SUM(duration) AS d FROM hits) SELECT a.os, a.n / t.total AS share FROM a CROSS JOIN t
WITH a AS (SELECT os, SUM(duration) AS n FROM hits GROUP BY os), t AS (SELECT SUM(duration) AS total FROM hits) SELECT os, n / t.total AS share FROM a, t ORDER BY share DESC
WITH a AS (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) SELECT os, n / (SELECT SUM(n) FROM a) AS share FROM a
WITH ranked AS (SELECT region, os, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY region ORDER BY COUNT(*) DESC) AS rn FROM hits GROUP BY region, os) SELECT region, os, n FROM ranked WHERE rn = 1
WITH ranked AS (SELECT os, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS rn FROM hits GROUP BY os) SELECT * FROM ranked WHERE rn <= 2 ORDER BY rn
SELECT os, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS place FROM hits GROUP BY os ORDER BY place
SELECT os, n, share FROM (SELECT os, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM hits GROUP BY os) t WHERE share > 0.25
!unsupported-subquery SELECT COUNT(*) AS n FROM hits WHERE duration > (SELECT AVG(duration) FROM hits)
!unsupported-subquery SELECT os FROM hits WHERE duration IN (SELECT width FROM hits)
SELECT os, GROUPING(os) AS g, COUNT(*) AS n FROM hits GROUP BY ROLLUP (os)
SELECT os, region, COUNT(*) AS n, AVG(duration) AS a FROM hits GROUP BY ROLLUP (os, region) ORDER BY os NULLS LAST, region NULLS LAST LIMIT 5
SELECT channel_name, os, COUNT(*) AS n FROM hits GROUP BY ROLLUP (channel_name, os)
SELECT os, COUNT(*) AS n FROM hits GROUP BY os UNION ALL SELECT 'total', COUNT(*) FROM hits ORDER BY n DESC
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY n DESC FETCH FIRST 2 ROWS ONLY
SELECT os, COUNT(*) AS n FROM hits GROUP BY os HAVING COUNT(*) IN (1, 2) OR os IS NOT NULL
!count-distinct SELECT COUNT(DISTINCT os) AS n FROM hits
SELECT COUNT(DISTINCT CASE WHEN os = 'ios' THEN uid END) AS n FROM hits
SELECT SUM(CASE WHEN os = 'ios' THEN 1 ELSE 0 END) AS n, SUM(IF(os = 'ios', duration, 0)) AS d FROM hits
SELECT COUNT(CASE WHEN os = 'ios' THEN 1 END) AS n FROM hits
SELECT AVG(CASE WHEN os = 'ios' THEN duration END) AS n FROM hits
SELECT os, AVG(duration) FILTER (WHERE region = 'EU') - AVG(duration) FILTER (WHERE region = 'US') AS diff FROM hits GROUP BY os
SELECT os, SUM(duration) / NULLIF(COUNT(*), 0) AS a FROM hits GROUP BY os
SELECT UPPER(os) AS os, COUNT(*) AS n FROM hits GROUP BY UPPER(os)
SELECT CONCAT(os, '-', region) AS k, COUNT(*) AS n FROM hits GROUP BY k
SELECT os || ':' || region AS k, COUNT(*) AS n FROM hits GROUP BY 1 ORDER BY 1 DESC
SELECT LENGTH(os) AS k, COUNT(*) AS n FROM hits GROUP BY LENGTH(os)
SELECT REPLACE(os, 'i', 'I') AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT SPLIT_PART(os, 'n', 1) AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT REVERSE(os) AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT LPAD(os, 4, '*') AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT width & 3 AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT width % 2 = 0 AS even, COUNT(*) AS n FROM hits GROUP BY 1
SELECT duration > 10 AND os = 'ios' AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT EXP(AVG(LN(duration + 1))) AS geo FROM hits
SELECT POWER(AVG(duration), 2) AS p FROM hits
SELECT AVG(duration * 1.0) AS a, AVG(CAST(duration AS DOUBLE)) AS b, AVG(duration::DECIMAL(10,2)) AS c FROM hits
SELECT SUM(duration)::BIGINT AS s FROM hits
SELECT os, COUNT(*)::INT AS n, ROUND(AVG(duration), 1) AS a FROM hits GROUP BY os
SELECT VAR_POP(duration) AS v, VAR_SAMP(duration) AS w, STDDEV_POP(duration) AS s FROM hits
SELECT QUANTILE_DISC(duration, 0.9) AS q FROM hits
SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY duration DESC) AS q FROM hits
!bad-share SELECT QUANTILE_CONT(duration, [0.25, 0.5, 0.75]) AS q FROM hits
SELECT MEDIAN(duration) FILTER (WHERE os = 'ios') AS q FROM hits
!unsupported-aggregate SELECT MIN(duration) AS m FROM hits
!unsupported-aggregate SELECT BOOL_OR(os = 'ios') AS b FROM hits
!unsupported-aggregate SELECT KURTOSIS(duration) AS k FROM hits
!unsupported-aggregate SELECT SKEWNESS(duration) AS k FROM hits
!unsupported-aggregate SELECT ARG_MAX(os, duration) AS k FROM hits
!unsupported-aggregate SELECT FIRST(os) AS k FROM hits
!unsupported-aggregate SELECT STRING_AGG(os, ',') AS k FROM hits
!unsupported SELECT COUNT(*) AS n FROM hits TABLESAMPLE 10%
SELECT os, COUNT(*) AS n FROM hits WHERE os NOT IN ('ios') AND region != 'EU' GROUP BY os;
SELECT h.os, COUNT(*) AS n FROM hits AS h WHERE h.region = 'EU' GROUP BY h.os
SELECT COUNT(*) AS n FROM hits WHERE region = 'EU' AND (os = 'ios' OR os = 'linux') AND NOT (width < 3 AND duration < 3)
SELECT COUNT(*) AS n FROM hits WHERE os IN ('ios', NULL)
SELECT COUNT(*) AS n FROM hits WHERE engine IS NULL OR engine = ''
SELECT COUNT(*) AS n FROM hits WHERE engine <> NULL
SELECT COUNT(*) AS n FROM hits WHERE visits_before BETWEEN 1 AND 3 AND channel_name <> 'ads'
SELECT visits_before > 2 AS many, COUNT(*) AS n FROM hits GROUP BY many
SELECT CASE WHEN visits_before > 2 THEN 'many' ELSE 'few' END AS k, COUNT(*) AS n FROM hits GROUP BY k
SELECT UPPER(channel_name) AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT channel_name, os, SUM(COUNT(*)) OVER (PARTITION BY channel_name) AS t FROM hits GROUP BY channel_name, os
SELECT channel_name, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM hits GROUP BY channel_name
SELECT SUM(COUNT(*)) OVER (ORDER BY os) AS running, os FROM hits GROUP BY os
SELECT width, SUM(COUNT(*)) OVER (ORDER BY width) AS running FROM hits GROUP BY width
SELECT os, LAG(COUNT(*)) OVER (ORDER BY os) AS b FROM hits GROUP BY os
!unsupported-window SELECT os, NTILE(2) OVER (ORDER BY COUNT(*)) AS b FROM hits GROUP BY os
!unsupported-window SELECT os, PERCENT_RANK() OVER (ORDER BY COUNT(*)) AS b FROM hits GROUP BY os
!unsupported-window SELECT os, MAX(COUNT(*)) OVER () AS b FROM hits GROUP BY os
!unsupported-pivot PIVOT hits ON os USING COUNT(*)
FROM hits SELECT os, COUNT(*) AS n GROUP BY os
!not-an-aggregate SELECT COLUMNS('w.*') FROM hits
!private-rows SELECT * EXCLUDE (os) FROM hits
SELECT os, count() AS n FROM hits GROUP BY os
SELECT os, sum(duration) s, sum(width) w, s / w AS r FROM hits GROUP BY os
-- What BI tools, dbt and other databases' users write.
SELECT CASE WHEN duration < 10 THEN 'short' WHEN duration < 30 THEN 'mid' ELSE 'long' END AS bucket, COUNT(*) AS n, AVG(width) AS w FROM hits GROUP BY 1 ORDER BY 2 DESC
SELECT region, COUNT(*) FILTER (WHERE os = 'ios') * 1.0 / COUNT(*) AS share FROM hits GROUP BY region
!unsupported-group SELECT date_trunc('day', TIMESTAMP '2026-01-01') AS d, COUNT(*) AS n FROM hits GROUP BY 1
SELECT os AS "OS Name", COUNT(*) AS "Row Count" FROM hits GROUP BY "OS Name" ORDER BY "Row Count" DESC LIMIT 10
SELECT "hits"."os" AS "os", SUM("hits"."width") AS "sum" FROM "main"."hits" "hits" GROUP BY "hits"."os"
SELECT SUM(CASE WHEN os = 'ios' THEN 1 ELSE 0 END) AS ios, SUM(CASE WHEN os = 'android' THEN 1 ELSE 0 END) AS android FROM hits
SELECT COUNT(*) AS n FROM hits WHERE 1 = 1 AND region = 'EU'
SELECT COUNT(*) AS n FROM hits WHERE region IN ('EU') AND NOT (os = 'ios' OR os = 'linux')
WITH t AS (SELECT os, region, COUNT(*) AS n FROM hits GROUP BY 1, 2) SELECT os, SUM(n) AS n FROM t GROUP BY os
WITH base AS (SELECT * FROM hits WHERE region = 'EU'), agg AS (SELECT os, AVG(duration) AS d FROM base GROUP BY os) SELECT * FROM agg ORDER BY d DESC
SELECT os, STDDEV_SAMP(duration) / AVG(duration) AS cv FROM hits GROUP BY os
!unknown-table SELECT (SELECT COUNT(*) FROM hits WHERE os = 'ios') AS ios, (SELECT COUNT(*) FROM hits) AS total
SELECT os, COUNT(*) AS n FROM hits GROUP BY os HAVING COUNT(*) > 100 AND AVG(duration) > 5 ORDER BY n
SELECT FLOOR(duration / 10) * 10 AS bin, COUNT(*) AS n FROM hits GROUP BY bin ORDER BY bin
SELECT CAST(FLOOR(duration / 10.0) AS INTEGER) AS bin, COUNT(*) AS n FROM hits GROUP BY 1 ORDER BY 1
SELECT SUM(width) FILTER (WHERE os = 'ios') AS a, AVG(duration) FILTER (WHERE region = 'US') AS b FROM hits
SELECT channel_name, os, COUNT(*) AS n FROM hits GROUP BY channel_name, os ORDER BY 3 DESC LIMIT 5
SELECT COALESCE(engine, 'none') AS e, COUNT(*) AS n FROM hits GROUP BY COALESCE(engine, 'none')
SELECT COUNT(engine) AS known, COUNT(*) - COUNT(engine) AS unknown FROM hits
SELECT AVG(CASE WHEN engine IS NULL THEN 1.0 ELSE 0.0 END) AS missing FROM hits
SELECT os, region, GROUPING(os) AS g, COUNT(*) AS n FROM hits GROUP BY ROLLUP (os, region)
SELECT COUNT(*) AS n FROM hits h WHERE h.duration BETWEEN 5 AND 15 AND h.width >= 10
SELECT COUNT(*) AS n FROM hits WHERE (duration - width) > 5
SELECT MEDIAN(duration) AS m, QUANTILE_CONT(duration, 0.95) AS p95 FROM hits WHERE os = 'ios'
SELECT os, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM hits GROUP BY os
SELECT DISTINCT os FROM hits
SELECT VAR_POP(duration) AS v, CORR(duration, width) AS c FROM hits
SELECT UPPER(os) AS o, COUNT(*) AS n FROM hits GROUP BY UPPER(os)
SELECT COUNT(*) AS n FROM hits WHERE os ILIKE 'A%'
SELECT COUNT(*) AS n FROM hits WHERE LENGTH(os) > 4
SELECT os || '/' || region AS k, COUNT(*) AS n FROM hits GROUP BY 1
SELECT SUM(duration * width) / SUM(width) AS weighted FROM hits
SELECT COUNT(*)::DOUBLE AS n FROM hits
SELECT AVG(duration)::INT AS n FROM hits
SELECT MEDIAN(visits_before) AS m FROM hits
SELECT channel_name, SUM(visits_before) AS v FROM hits GROUP BY channel_name
!unknown-value SELECT COUNT(*) AS n FROM hits WHERE os = 'Ios'
SELECT COUNT(*) AS n FROM hits WHERE os = 'ios' LIMIT 1
!not-readable SELECT TOP 5 os FROM hits
!unsupported-window SELECT os, NTILE(4) OVER (ORDER BY COUNT(*)) AS p FROM hits GROUP BY os
!unsupported-aggregate SELECT LISTAGG(os) FROM hits
!unsupported SELECT COUNT(*) n FROM hits TABLESAMPLE 10%
!unsupported-condition SELECT COUNT(*) AS n FROM hits WHERE duration > ALL (SELECT width FROM hits)
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY CASE os WHEN 'ios' THEN 1 ELSE 2 END
!not-an-aggregate SELECT PIVOT(os) FROM hits
SELECT 100 * AVG(CASE WHEN duration = 0 THEN 1 ELSE 0 END) AS bounce_rate FROM hits
SELECT COUNT(*) AS n FROM hits WHERE os IS NOT DISTINCT FROM 'ios'
SELECT COUNT(*) AS n FROM hits WHERE duration % 2 = 0
SELECT os, SUM(SUM(duration)) OVER (ORDER BY os) AS running FROM hits GROUP BY os
!wrong-constant SELECT TRY_CAST(os AS INTEGER) AS x, COUNT(*) AS n FROM hits GROUP BY 1
!unsupported-aggregate SELECT ENTROPY(os) AS k FROM hits
!not-an-aggregate SELECT GEOMEAN(duration) FROM hits
!unsupported-aggregate SELECT PRODUCT(duration) FROM hits
!unsupported-aggregate SELECT SKEWNESS(duration) FROM hits
WITH t AS (SELECT os, region, COUNT(*) AS n, SUM(width) AS w FROM hits WHERE duration > 3 GROUP BY os, region) SELECT region, SUM(n) AS total, SUM(w) AS w FROM t WHERE os <> 'ios' GROUP BY 1 ORDER BY total DESC LIMIT 1
SELECT SUM(n) AS n FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t
SELECT SUM(n) AS n FROM (SELECT os, COUNT(*) AS n FROM hits GROUP BY os) t WHERE os = 'ios'
SELECT INITCAP(os) AS o, COUNT(*) AS n FROM hits GROUP BY 1 -- DuckDB has no INITCAP
!unsupported-group SELECT LOG10(GAMMA(duration)) AS x, COUNT(*) AS n FROM hits GROUP BY 1
SELECT t.o, SUM(t.n) AS n FROM (SELECT UPPER(os) AS o, region, COUNT(*) AS n FROM hits GROUP BY 1, 2) t GROUP BY t.o
SELECT os, COUNT(*) AS n FROM hits GROUP BY os ORDER BY LENGTH(os) DESC, os
SELECT os, COUNT(*) AS n FROM hits GROUP BY os HAVING os LIKE 'i%' OR LENGTH(os) > 6
SELECT width, COUNT(*) AS n FROM hits GROUP BY width HAVING width % 3 = 1 AND COUNT(*) > 20 ORDER BY -width
SELECT channel_name, COUNT(*) AS n FROM hits GROUP BY channel_name HAVING UPPER(channel_name) IN ('ADS', 'MAIL')
SELECT engine, SUM(COUNT(*)) OVER (ORDER BY engine NULLS FIRST) AS run FROM hits GROUP BY engine
SELECT engine, LAG(COUNT(*)) OVER (ORDER BY engine NULLS FIRST) AS before FROM hits GROUP BY engine
SELECT os, SUM(COUNT(*)) OVER (ORDER BY os ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM hits GROUP BY os
SELECT SUBSTR(os, -3) AS e, SUBSTR(os, -9, 4) AS f, SUBSTR(os, 3, -1) AS g, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT LEFT(channel_name, 1) AS k, AVG(width) AS w FROM hits GROUP BY k
SELECT visits_before // 2 AS pairs, COUNT(*) AS n, AVG(duration) AS d FROM hits WHERE os = 'ios' GROUP BY pairs
SELECT COUNT(*) AS n FROM hits WHERE visits_before % 2 = 1 AND region = 'EU'
SELECT COUNT(*) AS n FROM hits WHERE visits_before > width - 8
SELECT COUNT(*) AS n FROM hits WHERE visits_before BETWEEN 1 AND width
SELECT COUNT(*) AS n FROM hits WHERE channel_name IN ('ads', NULL) OR channel_name IS DISTINCT FROM 'mail'
SELECT AVG(visits_before / 2) AS a, AVG(SQRT(visits_before)) AS r FROM hits
SELECT MEDIAN(visits_before) AS m, QUANTILE(visits_before, 0.9) AS q FROM hits
SELECT region, MEDIAN(visits_before) AS m FROM hits WHERE width > 8 GROUP BY region
SELECT MEDIAN(visits_before + width) AS m FROM hits
SELECT visits_before, SUM(COUNT(*)) OVER (ORDER BY visits_before DESC) AS run FROM hits GROUP BY visits_before
SELECT visits_before > 2 AS often, COUNT(*) AS n FROM hits GROUP BY often
SELECT channel_name || '/' || os AS g, COUNT(*) AS n FROM hits GROUP BY g HAVING COUNT(*) > 50
-- A column alone as a condition: numbers are true if they are not 0, texts are refused.
SELECT COUNT(*) AS n FROM hits WHERE visits_before
SELECT COUNT(*) AS n FROM hits WHERE NOT visits_before AND os = 'linux'
SELECT COUNT(*) AS n FROM hits WHERE width
SELECT COUNT(*) AS n FROM hits WHERE NOT width OR region = 'EU'
SELECT COUNT(*) AS n FROM hits WHERE CAST(width AS BOOLEAN) IS TRUE
SELECT COUNT(*) AS n FROM hits WHERE duration % 3 OR NOT width % 2
SELECT os, SUM(CASE WHEN duration THEN 1 ELSE 0 END) AS stayed FROM hits GROUP BY os ORDER BY os
SELECT IF(width AND NOT duration, 'left', 'other') AS k, COUNT(*) AS n FROM hits GROUP BY k
!not-a-condition SELECT COUNT(*) AS n FROM hits WHERE channel_name
!not-a-condition SELECT COUNT(*) AS n FROM hits WHERE os IS TRUE
!not-a-condition SELECT COUNT(*) AS n FROM hits WHERE region OR visits_before
!not-a-condition SELECT SUM(CASE WHEN engine THEN 1 ELSE 0 END) AS n FROM hits
!not-a-condition SELECT os, COUNT(*) FILTER (WHERE engine) AS n FROM hits GROUP BY os
-- More functions of text and numbers, and CASE of what is not defined everywhere.
SELECT COUNT(*) AS n FROM hits WHERE os LIKE 'i!os' ESCAPE '!' OR engine LIKE '%!_%' ESCAPE '!'
SELECT COUNT(*) AS n FROM hits WHERE NOT engine ILIKE 'GOO$gle' ESCAPE '$' OR channel_name NOT LIKE 'a%' ESCAPE '#'
!unsupported-condition SELECT COUNT(*) AS n FROM hits WHERE os LIKE 'ios!' ESCAPE '!'
SELECT STRPOS(os, 'n') AS p, POSITION('d' IN os) AS q, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT CONCAT_WS('-', os, engine, NULL) AS k, TRANSLATE(os, 'iox', 'IO') AS t, REPEAT(region, 2) AS r, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT LTRIM(os, 'il') AS a, RTRIM(os, 'xs') AS b, TRIM(BOTH 'ls' FROM os) AS c, TRIM(engine) AS d, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT REGEXP_REPLACE(os, '[aeiou]', '_') AS a, REGEXP_REPLACE(os, '([aeiou])', '<\1>', 'g') AS b, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT REGEXP_EXTRACT(os, 'i.') AS a, REGEXP_EXTRACT(engine, '(o+)(.)', 2) AS b, REGEXP_EXTRACT(channel_name, '^(a|m)') AS c, COUNT(*) AS n FROM hits GROUP BY ALL
SELECT AVG(LOG(duration + 1)) AS a, SUM(LOG2(width + 1)) AS b, AVG(LOG10(visits_before + 1)) AS c FROM hits
SELECT AVG(CASE WHEN duration > 0 THEN LN(duration) END) AS a, SUM(CASE WHEN width = 0 THEN 0 ELSE duration / width END) AS b FROM hits
!wrong-constant SELECT AVG(LN(duration)) AS a FROM hits
!wrong-constant SELECT AVG(SQRT(width - 5)) AS a FROM hits
SELECT REGR_AVGX(duration, width) AS x, REGR_AVGY(duration, width) AS y, REGR_SXX(duration, width) AS sxx, REGR_SYY(duration, width) AS syy, REGR_SXY(duration, width) AS sxy FROM hits
SELECT os, REGR_INTERCEPT(duration, width) AS c, REGR_R2(duration, width) AS r FROM hits GROUP BY os
