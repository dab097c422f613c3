-- Questions of epidemiologists over a hospital.
SELECT sex, diabetic, COUNT(*) AS n FROM patients GROUP BY sex, diabetic ORDER BY 1, 2
SELECT sex, AVG(CASE WHEN diabetic THEN 1.0 WHEN NOT diabetic THEN 0.0 END) AS prevalence FROM patients GROUP BY sex
SELECT (COUNT(*) FILTER (WHERE diabetic AND sex = 'M') * 1.0 / COUNT(*) FILTER (WHERE NOT diabetic AND sex = 'M')) / (COUNT(*) FILTER (WHERE diabetic AND sex = 'F') * 1.0 / COUNT(*) FILTER (WHERE NOT diabetic AND sex = 'F')) AS odds_ratio FROM patients
SELECT CASE WHEN age < 2 THEN '0-1' WHEN age < 6 THEN '2-5' ELSE '6+' END AS age_group, COUNT(*) AS cases, COUNT(*) * 1000.0 / SUM(COUNT(*)) OVER () AS per_1000 FROM patients GROUP BY age_group
SELECT CASE WHEN bmi < 18.5 THEN 'under' WHEN bmi < 25 THEN 'normal' WHEN bmi < 30 THEN 'over' ELSE 'obese' END AS c, COUNT(*) AS n, AVG(bmi) AS m FROM patients GROUP BY 1
SELECT ROUND(bmi) AS b, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY 1
SELECT LEFT(icd, 3) AS chapter, COUNT(*) AS n FROM patients GROUP BY 1
SELECT COUNT(*) AS n FROM patients WHERE icd LIKE 'E11%' OR icd LIKE 'J45.%'
SELECT COUNT(*) AS n FROM patients WHERE SUBSTRING(icd FROM 1 FOR 3) IN ('E11', 'I10')
SELECT icd IS NULL AS missing, COUNT(*) AS n FROM patients GROUP BY 1
SELECT DATE_TRUNC('YEAR', diagnosed) AS y, AVG(age) AS a1 FROM patients WHERE NOT diagnosed IS NULL GROUP BY 1
SELECT year(diagnosed) AS y, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY 1 NULLS LAST
SELECT region, COUNT(*) AS n FROM patients GROUP BY region
SELECT COALESCE(region, 'n/a') AS region, AVG(age) AS a1 FROM patients GROUP BY 1
SELECT site, COUNT(*) AS a1, AVG(bmi) AS a2 FROM patients WHERE site BETWEEN 2 AND 4 GROUP BY site ORDER BY site
SELECT site % 2 AS arm, COUNT(*) AS n FROM patients GROUP BY 1
SELECT ward, AVG(los) AS alos, SUM(CASE WHEN died THEN 1 ELSE 0 END) AS deaths, 100.0 * SUM(CASE WHEN died THEN 1 ELSE 0 END) / COUNT(*) AS cfr FROM admissions GROUP BY ward ORDER BY cfr DESC
SELECT p.sex, a.ward, COUNT(*) AS n FROM patients p JOIN admissions a ON p.pid = a.pid WHERE p.age >= 6 GROUP BY p.sex, a.ward
SELECT AVG(los) AS a0, STDDEV_SAMP(los) AS a1, COUNT(*) AS a2, 1.96 * STDDEV_SAMP(los) / SQRT(COUNT(*)) AS ci FROM admissions
SELECT EXTRACT(ISODOW FROM admitted) AS d, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1
SELECT date_trunc('week', admitted) AS epi_week, COUNT(*) AS admissions, SUM(los) AS bed_days FROM admissions WHERE ward IN ('ICU', 'ER') GROUP BY epi_week ORDER BY epi_week
SELECT admitted, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY admitted ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS avg7 FROM admissions GROUP BY admitted ORDER BY admitted LIMIT 10
SELECT COUNT(*) / COUNT(DISTINCT pid) AS per_patient FROM admissions
!unsupported-subquery SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM patients) AS rate FROM admissions
SELECT REGR_SLOPE(los, CASE WHEN died THEN 1 ELSE 0 END) AS a0 FROM admissions
SELECT CORR(age, bmi) AS a0 FROM patients WHERE sex = 'F'
SELECT sex, MEDIAN(age) AS a1, QUANTILE_CONT(age, 0.25) AS a2, QUANTILE_CONT(age, 0.75) AS a3 FROM patients GROUP BY sex
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) AS cum FROM patients GROUP BY age ORDER BY age LIMIT 20
SELECT COUNT(*) AS n FROM patients WHERE diabetic IS NULL
SELECT COUNT(*) AS n FROM patients WHERE diabetic IS NOT TRUE
SELECT COUNT(*) AS n FROM patients WHERE NOT diabetic
SELECT COUNT(*) AS n FROM patients WHERE diabetic = FALSE AND age > 4
SELECT COUNT(*) AS n FROM patients WHERE bmi = 25
SELECT COUNT(*) AS n FROM patients WHERE bmi > '25.5'
SELECT age + 1 AS age, COUNT(*) AS n FROM patients GROUP BY age + 1 ORDER BY 1 LIMIT 4
SELECT age + 1 AS age, COUNT(*) AS n FROM patients GROUP BY age ORDER BY 1 LIMIT 4
WITH adm AS (SELECT pid, SUM(los) AS days FROM admissions GROUP BY pid) SELECT p.sex, AVG(COALESCE(adm.days, 0)) AS d FROM patients p LEFT JOIN adm ON adm.pid = p.pid GROUP BY p.sex
!unsupported-subquery WITH a AS (SELECT pid, COUNT(*) AS k FROM admissions GROUP BY pid) SELECT k, COUNT(*) FROM a GROUP BY k
SELECT ward, COUNT(*) AS n FROM admissions WHERE EXISTS (SELECT 1 FROM patients p WHERE p.pid = admissions.pid AND p.sex = 'F') GROUP BY ward
