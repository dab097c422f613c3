"""Everything that Python tools do with a PostgreSQL server: PGPASSWORD=… python tools.py PORT [TOOL…]."""

from __future__ import annotations

import asyncio
import os
import sys

import asyncpg
import pandas as pd
import psycopg
import psycopg2
import sqlalchemy as sa

HOST, PORT = "127.0.0.1", int(sys.argv[1])
PW = os.environ.get("PGPASSWORD")
KW = {"host": HOST, "port": PORT, "user": "analyst"}
Q = "SELECT os, COUNT(*) AS n FROM users WHERE age > {} GROUP BY os ORDER BY os"


def mark(tool):
    print("==", tool, flush=True)


def show(x):
    print(x, flush=True)


def inspect(engine):
    i = sa.inspect(engine)
    show(
        (
            i.default_schema_name,
            i.get_schema_names(),
            i.get_table_names(),
            i.get_view_names(),
            i.get_materialized_view_names(),
        )
    )
    for t in ("users", "orders"):
        show([(c["name"], str(c["type"]), c["nullable"]) for c in i.get_columns(t)])
        show(
            (
                i.get_pk_constraint(t),
                i.get_foreign_keys(t),
                i.get_indexes(t),
                i.get_unique_constraints(t),
                i.get_check_constraints(t),
                i.get_table_comment(t),
            )
        )
    show((i.has_table("users"), i.has_table("none"), i.get_sequence_names(), i.get_enums()))
    m = sa.MetaData()
    m.reflect(engine, views=True)
    show(sorted(m.tables))
    return m


only = set(sys.argv[2:])


def want(n):
    return not only or n in only


if want("psycopg"):
    mark("psycopg")
    with psycopg.connect(**KW, dbname="tacit", password=PW, application_name="psycopg") as c:
        show(c.info.server_version)
        show(c.execute(Q.format("%s"), [2]).fetchall())
        show(c.execute(Q.format("%s"), [2], binary=True).fetchall())
        show(
            c.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
            ).fetchall()
        )
if want("psycopg2"):
    mark("psycopg2")
    c = psycopg2.connect(**KW, dbname="tacit", password=PW, application_name="psycopg2")
    cur = c.cursor()
    cur.execute(Q.format("%s"), [2])
    show(cur.fetchall())
    c.close()
if want("asyncpg"):
    mark("asyncpg")

    async def run():
        c = await asyncpg.connect(**KW, database="tacit", password=PW, server_settings={"application_name": "asyncpg"})
        show([dict(r) for r in await c.fetch(Q.format("$1"), 2)])
        show(await c.fetchval("SELECT COUNT(*) AS n FROM users"))
        s = await c.prepare(Q.format("$1"))
        show([(a.name, a.type.name) for a in s.get_attributes()])
        show([p.name for p in s.get_parameters()])
        async with c.transaction(readonly=True):
            show(await c.fetchval("SELECT 1"))
        show(
            [
                tuple(r)
                for r in await c.fetch(
                    "SELECT table_name, column_name, data_type FROM information_schema.columns "
                    "WHERE table_schema = $1 ORDER BY table_name, ordinal_position",
                    "public",
                )
            ]
        )
        await c.reset()
        await c.close()
        p = await asyncpg.create_pool(**KW, database="tacit", password=PW, min_size=1, max_size=2)
        async with p.acquire() as k:
            show(await k.fetchval("SELECT current_database()"))
        await p.close()

    asyncio.run(run())
for name, url in (("sqlalchemy-psycopg", "postgresql+psycopg"), ("sqlalchemy-psycopg2", "postgresql+psycopg2")):
    if want(name):
        mark(name)
        e = sa.create_engine(
            sa.URL.create(url, username="analyst", password=PW, host=HOST, port=PORT, database="tacit"),
            connect_args={"application_name": name},
        )
        m = inspect(e)
        u = m.tables["users"]
        with e.connect() as c:
            show(
                c.execute(
                    sa.select(u.c.os, sa.func.count().label("n")).where(u.c.age > 2).group_by(u.c.os).order_by(u.c.os)
                ).all()
            )
        e.dispose()
if want("sqlalchemy-asyncpg"):
    mark("sqlalchemy-asyncpg")
    from sqlalchemy.ext.asyncio import create_async_engine

    async def run():
        e = create_async_engine(
            sa.URL.create(
                "postgresql+asyncpg", username="analyst", password=PW, host=HOST, port=PORT, database="tacit"
            ),
            connect_args={"server_settings": {"application_name": "sqlalchemy-asyncpg"}},
        )
        async with e.connect() as c:
            show(await c.run_sync(lambda s: sa.inspect(s).get_table_names()))
            show([(x["name"], str(x["type"])) for x in await c.run_sync(lambda s: sa.inspect(s).get_columns("users"))])
            show((await c.execute(sa.text("SELECT COUNT(*) AS n FROM users WHERE age > :a"), {"a": 2})).all())
            t = sa.table("users", sa.column("os"), sa.column("age"))
            show(
                (
                    await c.execute(
                        sa.select(t.c.os, sa.func.avg(t.c.age).label("m")).where(t.c.os == "i").group_by(t.c.os)
                    )
                ).all()
            )
        await e.dispose()

    asyncio.run(run())
if want("pandas"):
    mark("pandas")
    e = sa.create_engine(
        sa.URL.create("postgresql+psycopg", username="analyst", password=PW, host=HOST, port=PORT, database="tacit"),
        connect_args={"application_name": "pandas"},
    )
    show(pd.read_sql(Q.format("2"), e).to_dict())
    show(pd.read_sql(sa.text(Q.format(":a")), e, params={"a": 2}).dtypes.to_dict())
    try:
        pd.read_sql_table("users", e)
    except Exception as x:
        show(type(x).__name__)
    e.dispose()
