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
!unsupported-aggregate SELECT HISTOGRAM(duration) FROM hits
!unsupported-aggregate SELECT ARG_MAX(os, duration) FROM hits
!unsupported-aggregate SELECT BOOL_OR(duration > 5) FROM hits
!unsupported-window SELECT os, RANK() OVER (ORDER BY COUNT(*) DESC) FROM hits GROUP BY os
!unsupported-window SELECT channel_name, COUNT(*) / SUM(COUNT(*)) OVER () FROM hits GROUP BY channel_name
!bad-share SELECT QUANTILE(duration, 1.5) FROM hits
!unknown-table SELECT COUNT(*) FROM hit
!unknown-column SELECT COUNT(*) FROM hits WHERE browser = 'x'
!no-order SELECT COUNT(*) FROM hits WHERE os > 'a'
!not-a-number SELECT AVG(os) FROM hits
!not-grouped SELECT os, region, COUNT(*) FROM hits GROUP BY os
!private-rows SELECT * FROM hits LIMIT 10
!not-a-select DELETE FROM hits
!unsupported-expression SELECT MEDIAN(visits_before) FROM hits
!divides-by-zero SELECT SUM(duration / width) FROM hits
!wrong-constant SELECT COUNT(*) FROM hits WHERE lower(os) > 3
!unsupported-condition SELECT COUNT(*) FROM hits WHERE os IN (SELECT os FROM hits)
!unsupported-condition SELECT COUNT(*) FROM hits WHERE regexp_matches(os, 'l.*')
