"""A hundred typical mistakes: each message names the thing, what is allowed, and the next step."""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import tacit as tc
from tacit.cli import main

NEXT = re.compile(
    r"\b(Add|Adjust|Ask|Choose|Compare|Convert|Create|Declare|Did you mean|Drop|Encode|Give|Join|Keep|Known|List|"
    r"Lower|Make|Move|Name|Pass|Predict|Read|Remove|Rename|Rewrite|Save|Select|Set|Split|Swap|[Tt]ake|Truncate|Type|Use|Widen|"
    r"Write|must|needs?|Columns|Values|Check|Expected|Leave)\b"
)
"""Words of a next step, or of what is allowed."""

AGE, TOWN = tc.Ordinal("age", 0, 99), tc.Categorical("town", ["Oslo", "Bergen"])
PAY = tc.Ordinal("pay", 0, 1000, cells=10, dither=False)
USERS = tc.Service("users", "uid", [AGE, TOWN, PAY, tc.Date("day", "2026-01-01", "2026-12-31"), tc.Public("os")])
ORDERS = tc.Service("orders", "uid", [tc.Ordinal("amount", 0, 9)], at_most=3)
PEOPLE: dict[str, Any] = {
    "uid": [1, 2, 3],
    "age": [20, 30, 40],
    "town": ["Oslo", "Bergen", "Oslo"],
    "pay": [10, 20, 30],
    "day": ["2026-01-01"] * 3,
    "os": ["ios", "ios", "web"],
}
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), epsilon=4)


def days() -> list[Any]:
    return [datetime.date(2026, 1, 1)] * 3


def encode(**changes: Any) -> Any:
    table = PEOPLE | {"day": days()} | changes
    return COLLECTION.encode(
        users={k: v for k, v in table.items() if v is not None}, orders={"uid": [1], "amount": [3]}
    )


def schema(*attributes: Any, **options: Any) -> tc.Schema:
    return tc.Schema([tc.Service("users", "uid", list(attributes), **options)])


def toml(text: str) -> tc.Collection:
    return tc.Collection.from_toml(text)


@pytest.fixture(scope="module")
def db() -> tc.Database:
    made = tc.connect()
    made.create(COLLECTION)
    made.load(encode())
    return made


FILE = 'epsilon = 2\n[[services]]\nname = "users"\nkey = "uid"\nattributes = [{0}]\n'

IN_PYTHON: list[tuple[str, Callable[[], Any]]] = [
    # declarations
    ("high", lambda: tc.Ordinal("age", 99, 0)),
    ("low", lambda: tc.Ordinal("age", "a lot", 9)),
    ("high", lambda: tc.Ordinal("age", 0, float("inf"))),
    ("cells", lambda: tc.Ordinal("age", 0, 9, cells=1)),
    ("cells", lambda: tc.Ordinal("age", 0, 9, cells=50, step=1)),
    ("cells", lambda: tc.Ordinal("income", 0, 10_000_000)),
    ("fanout", lambda: tc.Ordinal("age", 0, 9, fanout=1)),
    ("outside", lambda: tc.Ordinal("age", 0, 9, outside="ignore")),  # type: ignore[arg-type]
    ("step", lambda: tc.Ordinal("age", 0, 10, step=3)),
    ("step", lambda: tc.Ordinal("age", 0, 10, step=0)),
    ("null", lambda: tc.Ordinal("age", 0, 9, null="yes")),  # type: ignore[arg-type]
    ("first name", lambda: tc.Categorical("first name", ["a"])),
    ("round", lambda: tc.Ordinal("round", 0, 9)),
    ("1st", lambda: tc.Ordinal("1st", 0, 9)),
    ("town", lambda: tc.Categorical("town", [])),
    ("town", lambda: tc.Categorical("town", "Oslo")),
    ("town", lambda: tc.Categorical("town", ["Oslo", "Oslo"])),
    ("town", lambda: tc.Categorical("town", ["Oslo", 3])),  # type: ignore[list-item]
    ("town", lambda: tc.Categorical("town", [1.5, 2.5])),  # type: ignore[list-item]
    ("town", lambda: tc.Categorical("town", [f"a rather long name of a town {i}" for i in range(20_000)])),
    ("unit", lambda: tc.Date("day", "2026-01-01", "2026-02-01", unit="year")),  # type: ignore[arg-type]
    ("low", lambda: tc.Date("day", "1 January", "2026-02-01")),
    ("high", lambda: tc.Date("day", "2026-03-01", "2026-02-01")),
    ("hours", lambda: tc.Timestamp("at", "2000-01-01", "2026-01-01", unit="hour")),
    ("cells", lambda: tc.Place("home", south=1, west=1, north=2, east=2, cells=100)),
    ("os", lambda: tc.Public("os", type=list)),
    ("os", lambda: tc.Public("os", values=["a"], type=str)),
    # services and schemas
    ("no service", lambda: tc.Schema([])),
    ("Ordinal", lambda: tc.Schema([AGE])),  # type: ignore[list-item]
    ("attributes", lambda: tc.Service("users", "uid", AGE)),  # type: ignore[arg-type]
    ("nothing to collect", lambda: tc.Service("users", "uid", [])),
    ("uid", lambda: tc.Service("users", "uid", [tc.Ordinal("uid", 0, 9)])),
    ("age", lambda: tc.Service("users", "uid", [AGE, tc.Ordinal("AGE", 0, 9)])),
    ("at_most", lambda: tc.Service("users", "uid", [AGE], at_most=0)),
    ("sends", lambda: tc.Service("users", "uid", [AGE], at_most=2, sends=3)),
    ("optional", lambda: tc.Service("users", "uid", [AGE], at_most=2, optional=True)),
    ("Public", lambda: tc.Service("users", "uid", [AGE, tc.Public("os")], at_most=2)),
    ("users", lambda: tc.Schema([USERS, USERS])),
    ("shop", lambda: tc.Schema([USERS])["shop"]),
    ("from_table", lambda: tc.Schema.from_table()),
    ("user", lambda: tc.Schema.from_table({"uid": [1, 2], "age": [3, 4]}, key="user")),
    # collections
    ("epsilon", lambda: tc.Collection(schema(AGE))),
    ("epsilon", lambda: tc.Collection(schema(AGE), epsilon=0)),
    ("epsilon", lambda: tc.Collection(schema(AGE), epsilon=-1)),
    ("epsilon", lambda: tc.Collection(schema(AGE), epsilon="two")),
    ("epsilon", lambda: tc.Collection(schema(AGE), epsilon=1000)),
    ("schema", lambda: tc.Collection([USERS], epsilon=1)),  # type: ignore[arg-type]
    ("hoi", lambda: tc.Collection(schema(AGE), epsilon=1, mechanism="hoi")),
    ("grrr", lambda: tc.Collection(schema(AGE), epsilon=1, oracle="grrr")),
    ("round", lambda: tc.Collection(schema(AGE), epsilon=1, round=3)),  # type: ignore[arg-type]
    ("users", lambda: tc.Collection(schema(AGE), epsilon=1, users=0)),
    ("shop", lambda: tc.Collection(schema(AGE), epsilon=1, weights={"shop": 2})),
    ("weights", lambda: tc.Collection(schema(AGE), epsilon=1, weights={"users": 0})),
    ("central_epsilon", lambda: tc.Collection(schema(AGE), central_epsilon=1)),
    # collection files
    ("TOML", lambda: toml("epsilon = ")),
    ("epsilon", lambda: toml("services = []")),
    ("epsilom", lambda: toml("epsilom = 2")),
    ("lows", lambda: toml(FILE.format('{ name = "age", lows = 0, high = 9 }'))),
    ("high", lambda: toml(FILE.format('{ name = "age", low = 0 }'))),
    ("oridnal", lambda: toml(FILE.format('{ name = "age", kind = "oridnal", low = 0, high = 9 }'))),
    ("low", lambda: toml(FILE.format('{ name = "d", kind = "date", low = 5, high = 9 }'))),
    ("missing.toml", lambda: tc.Collection.from_file("missing.toml")),
    # tables
    ("age", lambda: encode(age=None)),
    ("agee", lambda: encode(agee=[1, 2, 3])),
    ("age", lambda: encode(age=[20, 30, 400])),
    ("age", lambda: encode(age=[20, 30, None])),
    ("age", lambda: encode(age=["20", "30", "40"])),
    ("age", lambda: encode(age=[20.5, 30.5, 40.5])),
    ("age", lambda: encode(age=[20.0, float("nan"), 40.0])),
    ("town", lambda: encode(town=["Oslo", "oslo", "Oslo"])),
    ("town", lambda: encode(town=[1, 2, 3])),
    ("day", lambda: encode(day=["2026-01-01"] * 3)),
    ("uid", lambda: encode(uid=[1, 1, 2])),
    ("uid", lambda: encode(uid=[1.5, 2.5, 3.5])),
    ("orders", lambda: COLLECTION.encode(users=PEOPLE)),
    ("shop", lambda: COLLECTION.encode(shop=PEOPLE)),
    ("users", lambda: COLLECTION.encode(users=3, orders=PEOPLE)),
    ("users", lambda: COLLECTION.encode(users="people.xlsx", orders=PEOPLE)),
    ("users", lambda: COLLECTION.encode(users="people.csv", orders=PEOPLE)),
    ("rng", lambda: COLLECTION.encode(users=PEOPLE, orders=PEOPLE, rng=7)),  # type: ignore[arg-type]
    ("reset_index", lambda: COLLECTION.encode(users=pd.DataFrame(PEOPLE).set_index("uid"), orders=PEOPLE)),
    ("collect()", lambda: COLLECTION.encode(users=pl.LazyFrame(PEOPLE), orders=PEOPLE)),
    ("list", lambda: COLLECTION.encode(users=(row for row in [PEOPLE]), orders=PEOPLE)),
    ("uid 3, age 2", lambda: encode(age=[20, 30])),
    ("age", lambda: encode(age=[20, "30", 40])),
    ("age", lambda: encode(age=[10**30] * 3)),
    ("age", lambda: encode(age=20)),
    ("town", lambda: encode(town=["\ud800"] * 3)),
    ("town", lambda: COLLECTION.prepare(users={"uid": [1], "age": [2]})),
    # forecasts
    ("users", lambda: COLLECTION.predict("SELECT COUNT(*) AS n FROM users", users=0)),
    ("users", lambda: COLLECTION.predict("SELECT COUNT(*) AS n FROM users")),  # type: ignore[call-overload]
    ("usrs", lambda: COLLECTION.report(like={"usrs": PEOPLE})),
    ("encode", lambda: tc.connect().load({"users": PEOPLE})),  # type: ignore[dict-item]
    ("Schema", lambda: tc.connect().create(COLLECTION.schema)),  # type: ignore[arg-type]
    ("like", lambda: COLLECTION.predict("SELECT AVG(age) AS n FROM users", users=9, like={"wage": [1]})),
]

QUESTIONS = [
    ("SELEKT", "SELEKT COUNT(*) FROM users"),
    ("", ""),
    ("user", "SELECT COUNT(*) AS n FROM user"),
    ("agee", "SELECT AVG(agee) AS n FROM users"),
    ("single quotes, 'Oslo'", 'SELECT COUNT(*) AS n FROM users WHERE town = "Oslo"'),
    ("single quotes, 'Oslo'", "SELECT COUNT(*) AS n FROM users WHERE town = Oslo"),
    ("Olso", "SELECT COUNT(*) AS n FROM users WHERE town = 'Olso'"),
    ("town", "SELECT AVG(town) AS n FROM users"),
    ("town", "SELECT COUNT(*) AS n FROM users WHERE town > 'A'"),
    ("age", "SELECT COUNT(*) AS n FROM users WHERE age = 'old'"),
    ("day", "SELECT COUNT(*) AS n FROM users WHERE day > 5"),
    ("day", "SELECT SUM(day) AS n FROM users"),
    ("pay", "SELECT COUNT(*) AS n FROM users WHERE pay < 150"),
    ("age", "SELECT age FROM users"),
    ("age", "SELECT age, COUNT(*) AS n FROM users"),
    ("SELECT", "DROP TABLE users"),
    ("uid", "SELECT uid, COUNT(*) AS n FROM users GROUP BY uid"),
    ("shop", "SELECT COUNT(*) AS n FROM users JOIN shop USING (uid)"),
    ("one", "SELECT COUNT(*) AS n FROM users; SELECT COUNT(*) AS m FROM users"),
    ("nn", "SELECT town, COUNT(*) AS n FROM users GROUP BY town ORDER BY nn"),
]

COMMANDS = [
    ("people.xlsx", "init people.xlsx"),
    ("file", "init"),
    ("missing.toml", "plan missing.toml"),
    ("missing.toml", "encode missing.toml users=u.csv --out r"),
    ("missing", "load d.tacit missing"),
    ("missing.tacit", "query missing.tacit x"),
    ("missing.tacit", "shell missing.tacit"),
    ("missing.toml", "audit missing.toml"),
    ("tacit init u.csv", "audit u.csv"),
    ("tacit init u.csv", "plan u.csv"),
    ("querry", "querry x"),
    ("epsilon", "init u.csv --epsilon none"),
]


def check(message: str, thing: str) -> None:
    """Require a message that names the thing, and says what is allowed or what to do."""
    assert thing.lower() in message.lower(), f"{message!r} does not name {thing!r}"
    assert NEXT.search(message), f"{message!r} names no next step"
    assert "Traceback" not in message


@pytest.mark.parametrize(("thing", "mistake"), IN_PYTHON, ids=lambda given: given if isinstance(given, str) else "")
def test_mistakes_in_python(thing: str, mistake: Callable[[], Any]) -> None:
    with pytest.raises(tc.TacitError) as caught:
        mistake()
    check(caught.value.message, thing)


@pytest.mark.parametrize(("thing", "question"), QUESTIONS)
def test_mistakes_in_questions(thing: str, question: str, db: tc.Database) -> None:
    with pytest.raises(tc.TacitError) as caught:
        db.sql(question)
    check(str(caught.value), thing)


@pytest.mark.parametrize(("thing", "words"), COMMANDS)
def test_mistakes_on_the_command_line(
    thing: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").write_text("uid,age\n1,20\n2,30\n")
    try:
        code = main(words.split())
    except SystemExit as ended:  # of argparse
        code = int(ended.code or 0)
    assert code == 2
    printed = capsys.readouterr().err
    assert thing in printed
    assert "usage:" in printed or NEXT.search(printed)
    assert "Traceback" not in printed


def test_there_are_a_hundred_of_them() -> None:
    assert len(IN_PYTHON) + len(QUESTIONS) + len(COMMANDS) >= 100


def test_categories_of_polars_and_members_of_enumerations_are_texts() -> None:
    town = enum.Enum("Town", {"OSLO": "Oslo", "BERGEN": "Bergen"})
    frame = pl.DataFrame(PEOPLE | {"day": days()}).with_columns(pl.col("town").cast(pl.Categorical))
    members = PEOPLE | {"day": days(), "town": [town("Oslo"), town("Bergen"), town("Oslo")]}
    orders = {"uid": [1], "amount": [3]}
    plain, *others = (
        COLLECTION.encode(users=users, orders=orders, rng=tc.insecure_rng(3))["users"].to_pydict()
        for users in (PEOPLE | {"day": days()}, frame, members)
    )
    assert others == [plain, plain]


def test_loading_again_says_why_reports_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.csv").write_text("uid,age\n1,20\n2,30\n")
    (tmp_path / "u.toml").write_text(FILE.format('{ name = "age", low = 0, high = 99 }'))
    for words in ("encode u.toml users=u.csv --out r", "load u.tacit r", "load u.tacit r"):
        assert main(words.split()) == 0
    [*_, first, second] = capsys.readouterr().out.splitlines()
    assert first == "users: 2 reports stored, 0 refused"
    assert second == "users: 0 reports stored, 2 refused because their people have reported before"
