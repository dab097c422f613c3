-- Questions of dashboards over telemetry by the hour.
SELECT floor(extract(epoch from ts)/86400)*86400 AS "time", COUNT(*) AS value FROM events WHERE extract(epoch from ts) >= 1793577600 AND extract(epoch from ts) <= 1793836800 GROUP BY time ORDER BY time
SELECT date_trunc('day', ts) AS time, os AS metric, COUNT(*) AS value FROM events WHERE ts BETWEEN '2026-11-03T00:00:00Z' AND '2026-11-03T23:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2
SELECT time_bucket(INTERVAL '1 day', ts) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT date_trunc('hour', ts) AS h, COUNT(*) AS n FROM events WHERE ts < '2026-11-02 05:00:00' GROUP BY h ORDER BY h
SELECT EXTRACT(HOUR FROM ts) AS hour, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT ts::date AS d, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT CAST(ts AS DATE) AS d, AVG(crashes) AS a1 FROM events GROUP BY CAST(ts AS DATE) ORDER BY d
SELECT COUNT(*) AS n FROM events WHERE ts >= '2026-11-03' AND ts < '2026-11-04'
SELECT COUNT(*) AS n FROM events WHERE ts >= DATE '2026-11-03' AND ts < DATE '2026-11-03' + INTERVAL 1 DAY
!wrong-constant SELECT COUNT(*) FROM events WHERE ts > '2026-11-03 10:30:00'
SELECT COUNT(*) AS n FROM events WHERE ts BETWEEN '2026-11-03 00:00:00' AND '2026-11-03 23:59:59'
SELECT COUNT(*) AS n FROM events WHERE day BETWEEN '2026-11-03 00:00:00' AND '2026-11-03 23:59:59'
SELECT COUNT(*) AS n FROM events WHERE day >= '2026-11-03T00:00:00.000Z' AND day < '2026-11-10T00:00:00.000Z'
SELECT COUNT(*) AS n FROM events WHERE status IN ('200', '404')
SELECT COUNT(*) AS n FROM events WHERE status >= 400
SELECT status / 100 AS class, COUNT(*) AS n FROM events GROUP BY 1
SELECT status // 100 AS class, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT CASE WHEN status < 400 THEN 'ok' ELSE 'error' END AS s, COUNT(*) AS n FROM events GROUP BY s
SELECT CAST(status AS VARCHAR) AS s, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT version, COUNT(*) AS sessions, SUM(crashes) AS crashes, 1 - SUM(CASE WHEN crashes > 0 THEN 1 ELSE 0 END)::double / COUNT(*) AS crash_free FROM events GROUP BY version ORDER BY version
SELECT seen, COUNT(*) AS n FROM events WHERE seen >= '2026-11-20' GROUP BY seen ORDER BY seen
SELECT build, COUNT(*) AS n FROM events WHERE build >= '110' GROUP BY build ORDER BY build DESC LIMIT 5
SELECT beta, QUANTILE(latency_ms, 0.95) AS p95 FROM events GROUP BY beta
SELECT os, approx_quantile(latency_ms, 0.99) AS p99 FROM events GROUP BY os
SELECT os, COUNT(*) FILTER (latency_ms > 10) AS slow FROM events GROUP BY os
SELECT SUM(IF(battery < 2, 1, 0)) AS low, COUNT(battery) AS known FROM events
SELECT os, SUM(latency_ms * crashes) / NULLIF(SUM(crashes), 0) AS weighted FROM events GROUP BY os
SELECT os, crashes, COUNT(*) AS a2 FROM events GROUP BY os, crashes HAVING COUNT(*) > 30 AND crashes > 0 ORDER BY os, crashes
SELECT battery IS NULL AS unknown, AVG(latency_ms) AS a1 FROM events GROUP BY 1
SELECT COUNT(*) AS n FROM events WHERE version ~ '^v[12]$'
SELECT COUNT(*) AS n FROM events WHERE version = 'v1' OR os = 'mac'
SELECT os, version, COUNT(*) AS n FROM events WHERE (os, version) IN (('mac', 'v1'), ('linux', 'v2')) GROUP BY os, version
!not-an-aggregate SELECT log10(AVG(latency_ms)), LOG(AVG(latency_ms)), LN(AVG(latency_ms)) FROM events
SELECT AVG(LN(latency_ms + 1)) AS ml, EXP(AVG(LN(latency_ms + 1))) - 1 AS geo FROM events
SELECT latency_ms / 5 AS b, COUNT(*) AS n FROM events WHERE latency_ms < 20 GROUP BY 1 ORDER BY 1
SELECT time_bucket(INTERVAL '6 hours', ts) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT time_bucket(INTERVAL '1 week', day) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT time_bucket(INTERVAL '1 month', day) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT time_bucket(INTERVAL '5 days', day) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT date_trunc('hour', ts) AS bucket, COUNT(*) AS n FROM events GROUP BY bucket ORDER BY bucket
SELECT COUNT(*) AS n FROM events WHERE ts >= TIMESTAMP '2026-11-03 00:00:00' - INTERVAL '6 hours'
SELECT COUNT(*) AS n FROM events WHERE ts < make_date(2026, 11, 3)
SELECT COUNT(*) AS n FROM events WHERE day < TIMESTAMP '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day >= TIMESTAMP '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day = TIMESTAMP '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day <> TIMESTAMP '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day < '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day <= '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE day > '2026-11-03 10:00:00'
SELECT COUNT(*) AS n FROM events WHERE date_trunc('week', day) = DATE '2026-11-02'
SELECT COUNT(*) AS n FROM events WHERE DATE_TRUNC('month', day) = '2026-11-01'
SELECT COUNT(*) AS n FROM events WHERE day IN (DATE '2026-11-02', '2026-11-03')
SELECT COUNT(*) AS n FROM events WHERE ts IN ('2026-11-03', TIMESTAMP '2026-11-03 01:00:00')
SELECT COUNT(*) AS n FROM events WHERE ts > '2026-11-03 10:59:59'
SELECT COUNT(*) AS n FROM events WHERE day BETWEEN (DATE '2026-11-09' - INTERVAL 7 DAYS) AND last_day(DATE '2026-11-09')
SELECT COUNT(*) AS n FROM events WHERE day + INTERVAL 1 DAY > DATE '2026-11-05'
SELECT COUNT(*) AS n FROM events WHERE CAST(ts AS DATE) = DATE '2026-11-03'
SELECT COUNT(*) AS n FROM events WHERE ts::date = '2026-11-03'
SELECT COUNT(*) AS n FROM events WHERE extract(hour from ts) BETWEEN 9 AND 17
SELECT COUNT(*) AS n FROM events WHERE battery IN ('1', '3') AND latency_ms < '5'
!wrong-constant SELECT COUNT(*) AS n FROM events WHERE battery = '1.5'
SELECT COUNT(*) AS n FROM events WHERE latency_ms + 1 < '5'
SELECT COUNT(*) AS n FROM events WHERE build = '110' OR build IN ('111', '112')
SELECT COUNT(*) AS n FROM events WHERE beta = 1
SELECT seen::date AS d, COUNT(*) AS n FROM events WHERE seen::date >= '2026-11-25' GROUP BY 1 ORDER BY 1
SELECT COUNT(*) AS n FROM events WHERE day >= DATE_TRUNC('day', (NOW() + (INTERVAL '-30 day'))) AND day < DATE_TRUNC('day', NOW()) -- the clock
SELECT COUNT(*) AS n FROM events WHERE day >= CURRENT_DATE - 13 -- the clock
SELECT COUNT(*) AS n FROM events WHERE day >= (CURRENT_DATE - INTERVAL '13 days')::date -- the clock
SELECT COUNT(*) AS n FROM events WHERE date_diff('day', day, current_date) <= 12 -- the clock
SELECT status, COUNT(*) AS n FROM events WHERE status BETWEEN 300 AND 499 GROUP BY status
SELECT COUNT(*) AS n FROM events WHERE status > '300' AND status <> '404'
SELECT hour(ts) AS h, minute(ts) AS m, weekday(ts) AS w, COUNT(*) AS n FROM events WHERE hour(ts) BETWEEN 8 AND 10 GROUP BY ALL
SELECT yearweek(day) AS yw, isoyear(day) AS y, COUNT(*) AS n FROM events GROUP BY ALL
SELECT strftime(ts, '%Y-%m-%d %H:00') AS k, strftime('%H', ts) AS h, COUNT(*) AS n FROM events GROUP BY ALL
