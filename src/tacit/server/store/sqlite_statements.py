"""The statements of the SQLite inbox: each is one step, since Python's lock may change hands between steps."""

from __future__ import annotations

from tacit.tables.statements import Sql

__all__ = [
    "DELETE_LISTED",
    "DIGESTS",
    "LISTED",
    "PENDING",
    "PEOPLE_WITH_ALL",
    "READ_AGAIN",
    "REPORTS_OF",
    "RESIZE",
    "SETTLED",
    "WAITING",
]

SETTLED = """
SELECT known - damaged - lost - (SELECT count(*) FROM waiting WHERE waiting.place = sizes.place)
FROM sizes WHERE place = ?
"""

PEOPLE_WITH_ALL = Sql(
    "AND person IN (SELECT person FROM waiting WHERE place = ? GROUP BY person HAVING count(*) = ? "
    "ORDER BY min(number) LIMIT ?) ORDER BY number"
)
LISTED = Sql("AND number IN (SELECT value FROM json_each(?)) ORDER BY number")
PENDING = """
SELECT json_group_array(json_array(
  number, hex(r.person), typeof(r.person) = 'integer', CAST(slot AS INTEGER), hex(digest), hex(content)
))
FROM (SELECT number FROM waiting WHERE place = ? {chosen}) CROSS JOIN reports r USING (number)
"""
READ_AGAIN = """
INSERT OR IGNORE INTO waiting
SELECT number, place, person FROM reports
WHERE number > ? AND number <= ? AND number NOT IN (SELECT number FROM damaged)
"""
DIGESTS = """
WITH asked (place, person, slot) AS ({values})
SELECT place, person, slot, digest FROM asked CROSS JOIN known USING (place, person, slot)
"""  # CROSS: one lookup for each identity
REPORTS_OF = """
SELECT slot, number FROM known WHERE place = ? AND person = ?
UNION SELECT slot, number FROM reports WHERE place = ? AND person = ? AND number > ?
"""
RESIZE = """
INSERT INTO sizes VALUES (?, ?, ?, ?, ?) ON CONFLICT (place) DO UPDATE SET
known = known + excluded.known, damaged = damaged + excluded.damaged, lost = lost + excluded.lost,
bulk = bulk + excluded.bulk
"""
DELETE_LISTED = "DELETE FROM {table} WHERE number IN (SELECT value FROM json_each(?))"
WAITING = "SELECT number, person FROM waiting WHERE place IN (SELECT value FROM json_each(?))"
