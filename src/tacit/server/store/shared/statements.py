"""Statements of a shared store: its lock, its totals, heartbeats, and what is no longer needed."""

from __future__ import annotations

__all__ = ["BEAT", "HAS_LOCK", "RESIZE", "YESTERDAY"]

HAS_LOCK = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() AND classid = 0 AND objid = %s AND objsubid = 1
"""

RESIZE = """
INSERT INTO tacit_sizes AS old VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (place, shard) DO UPDATE SET
known = old.known + excluded.known, damaged = old.damaged + excluded.damaged, lost = old.lost + excluded.lost,
bulk = old.bulk + excluded.bulk
"""

BEAT = """
INSERT INTO tacit_collectors AS old VALUES (%s, %s, %s, clock_timestamp(), 1, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET beats = old.beats + 1, seen = excluded.seen
"""

YESTERDAY = """
DELETE FROM tacit_state WHERE starts_with(name, %s)
AND (value::json ->> 'day')::date < (clock_timestamp() AT TIME ZONE 'UTC')::date - 1
"""
