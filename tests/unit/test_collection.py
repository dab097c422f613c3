"""Contracts: the same bytes for everybody, readable, small, and refusing what cannot work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tacit as tc
from tacit.contract.budget import exp_below, parse_epsilon
from tacit.contract.oracles import Grr
from tacit.contract.wire import MAX_BYTES
from tacit.datasets import town_schema
from tacit.errors import ContractError, LayoutError, SchemaError, TacitError, UnknownNameError, UsageError


def ordinals(count: int, values: int, **options: object) -> tc.Schema:
    attributes = [tc.Ordinal(f"a{i}", 0, values - 1, **options) for i in range(count)]  # type: ignore[arg-type]
    return tc.Schema([tc.Service("s", key="uid", attributes=attributes)])


@pytest.mark.parametrize("mechanism", ["auto", "hio", "hi", "sc", "fc", "am(2)"])
@pytest.mark.parametrize("oracle", ["auto", "lh", "olh"])
def test_json_round_trip_is_byte_stable(mechanism: str, oracle: str) -> None:
    collection = tc.Collection(town_schema(), epsilon=2.0, mechanism=mechanism, oracle=oracle, round="2026-11")
    again = tc.Collection.from_json(collection.to_json())
    assert again.to_json() == collection.to_json()
    assert again.id == collection.id
    assert again == collection
    assert again.contract == collection.contract
    assert len(collection.to_json().encode()) < MAX_BYTES
    reformatted = json.dumps(json.loads(collection.to_json()))
    assert tc.Collection.from_json(reformatted).id == collection.id


def test_the_id_names_the_content() -> None:
    first = tc.Collection(ordinals(1, 10), 1.0, round="a")
    assert first.id == tc.Collection(ordinals(1, 10), "1", round="a").id
    others = [
        tc.Collection(ordinals(1, 10), 1.0, round="b"),
        tc.Collection(ordinals(1, 10), 1.1, round="a"),
        tc.Collection(ordinals(1, 11), 1.0, round="a"),
        tc.Collection(ordinals(1, 10), 1.0, round="a", mechanism="sc"),
    ]
    assert len({first.id, *(other.id for other in others)}) == 5


def test_a_collection_file_compiles_to_the_same_contract(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(
        """
epsilon = 2.0
round = "2026-11"

[[services]]
name = "users"
key = "uid"
attributes = [
  { name = "age", low = 0, high = 124 },
  { name = "joined", kind = "date", low = "2026-01-01", high = "2026-03-31" },
  { name = "left", kind = "date", low = 2026-01-01, high = 2026-03-31, null = true },
  { name = "state", kind = "categorical", values = ["CA", "NY"], other = "else" },
  { name = "os", kind = "public" },
]

[[services]]
name = "orders"
key = "uid"
at_most = 10
sends = 2
attributes = [{ name = "amount", low = 0, high = 499, cells = 125 }]
"""
    )
    collection = tc.Collection.from_file(path)
    contract = tmp_path / "shop.json"
    contract.write_text(collection.to_json())
    assert tc.Collection.from_file(contract) == collection
    assert [service.name for service in collection.schema.services] == ["users", "orders"]
    orders = collection.contract["orders"]
    assert orders.channels[0].epsilon == collection.contract.epsilon / 3  # three reports: one user, two orders
    assert '"at_most": 10' in collection.to_json()
    assert collection.audit().ok


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("epsilon = ", ContractError, "file-not-toml"),
        ("epsilon = " + "[" * 5_000, ContractError, "file-not-toml"),
        ("epsilon = " + "9" * 5_000, ContractError, "file-not-toml"),
        ("epsilon = 1", SchemaError, "missing-word"),
        ("epsilon = 1\nservices = 3", SchemaError, "bad-option"),
        ("epsilon = 1\nservices = [3]", SchemaError, "bad-option"),
        ("epsilonn = 1\nservices = []", UnknownNameError, "unknown-word"),
        ("epsilon = 1\n[[services]]\nname = 's'\nkey = 'u'", SchemaError, "missing-word"),
        ("epsilon = 1\n[[services]]\nname = 's'\nkey = 'u'\nattributes = 1", SchemaError, "bad-option"),
        ("epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a'}]", SchemaError, "missing-word"),
        (
            "epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a',kind='ordnal'}]",
            UnknownNameError,
            "unknown-word",
        ),
        (
            "epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a',low=0,high=1,cels=3}]",
            UnknownNameError,
            "unknown-word",
        ),
        (
            "epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a',kind='date',low='x',high='y'}]",
            SchemaError,
            "bad-bound",
        ),
        (
            "epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a',kind='date',low=1,high=2}]",
            SchemaError,
            "bad-bound",
        ),
    ],
)
def test_bad_collection_files_are_refused_by_name(text: str, error: type[TacitError], code: str) -> None:
    with pytest.raises(error) as caught:
        tc.Collection.from_toml(text)
    assert caught.value.code == code


def test_an_attribute_with_values_is_categorical() -> None:
    text = "epsilon = 1\n[[services]]\nname='s'\nkey='u'\nattributes=[{name='a',values=['x','y']}]"
    [service] = tc.Collection.from_toml(text).schema.services
    assert service.attributes == (tc.Categorical("a", ["x", "y"]),)


def test_unreadable_files_are_refused_without_their_folder(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        tc.Collection.from_file(tmp_path / "absent.json")
    assert caught.value.code == "unreadable-file"
    assert str(tmp_path) not in str(caught.value)


GOOD = tc.Collection(town_schema(), epsilon=2.0, mechanism="hio").to_json()

OUE = tc.Collection(ordinals(1, 8), 1.0, mechanism="fc", oracle="oue").to_json()
SS = tc.Collection(ordinals(1, 8), 1.0, mechanism="fc", oracle="ss").to_json()
LH = tc.Collection(ordinals(1, 100), 1.0, mechanism="fc", oracle="lh").to_json()
OLH = tc.Collection(ordinals(1, 100), 1.0, mechanism="fc", oracle="olh").to_json()


def forged(text: str, word: str, value: str) -> str:
    """Return the contract with every number after a word replaced."""
    changed = re.sub(rf'"{word}": (-?\d+|"[^"]*")', lambda _: f'"{word}": {value}', text)
    assert changed != text
    return changed


FORGED = [
    *(forged(GOOD, "draw_bits", value) for value in ("8", "52", "54", '"53"', "true")),
    *(forged(GOOD, "flip", value) for value in ("-1", "1.5", '"1"', "null", "[1]", str(2**53), "1e3", "true")),
    *(forged(OUE, "one", value) for value in (str(101 * 2**53), "-1", "0.5")),
    forged(forged(OUE, "one", str(101 * 2**53)), "zero", str(-100 * 2**53)),
    *(forged(SS, "w", value) for value in ("0", "8", "500000", "-1", "2.0", "true")),
    *(forged(SS, "inside", value) for value in ("-5", str(2**53))),
    *(forged(LH, "g", value) for value in ("1", "0", "-1", "true", "4", "6", str(2**40), "3.0", '"3"')),
    *(forged(LH, "5", value) for value in ("0", "3", "6", str(2**62 + 1), "1.5", '"x"', "-1")),
    *(forged(OLH, "g", value) for value in ("0", "1", "-1", "4.0", str(2**21))),
    *(forged(GOOD, "epsilon", value) for value in ('"1e99999999"', '"0"', '"-1"', "1", '"x"', '"1000000"', "null")),
    *(forged(GOOD, "name", value) for value in ("5", '"a\\u001b[31m"', "null", '"' + "x" * 200 + '"')),
    *(forged(GOOD, "round", value) for value in ("7", "null", '"a\\nb"')),
    *(forged(GOOD, "mechanism", value) for value in ("7", "[]")),
    GOOD.replace('"tacit": 1,', '"tacit": 1, "tacit": 1,'),
    GOOD.replace('"product": [[0, ', '"product": [[-1, '),
    GOOD.replace('"product": [[0, ', '"product": [[true, '),
    LH.replace('"by_domain": {}', '"by_domain": {"100": {"oracle": "oue", "one": 1, "zero": 1}}'),
    LH.replace('"by_domain": {}', '"by_domain": {"100": {"oracle": "ss", "w": 50, "inside": 1, "outside": 1}}'),
    re.sub(r'"channels": \[.*?\n   \]', '"channels": []', GOOD, flags=re.DOTALL),
]


@pytest.mark.parametrize("text", FORGED, ids=range(len(FORGED)))
def test_forged_integers_are_refused_before_anything_is_encoded(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        tc.Collection.from_json(text)
    assert caught.value.code in ("contract-damaged", "contract-not-json")


def test_views_are_counted_over_all_channels() -> None:
    wide = json.loads(tc.Collection(ordinals(10, 9, fanout=3), 1.0, mechanism="hio").to_json())
    wide["services"][0]["channels"] *= 3
    with pytest.raises(ContractError):
        tc.Collection.from_json(json.dumps(wide))


DAMAGED = [
    ("contract-not-json", "{"),
    ("contract-not-json", "[" * 100_000),
    ("contract-version", "[]"),
    ("contract-version", GOOD.replace('"tacit": 1', '"tacit": 3')),
    ("contract-damaged", GOOD.replace('"channels"', '"chanels"')),
    ("contract-damaged", GOOD.replace('"draw_bits": 53', '"draw_bits": 54')),
    ("contract-damaged", GOOD.replace('"draw_bits": 53', '"draw_bits": "53"')),
    ("contract-damaged", GOOD.replace('"draws": 3', '"draws": 2')),
    ("contract-damaged", GOOD.replace('"widths": [25, 5, 1]', '"widths": [25, 5, 2]')),
    ("contract-damaged", GOOD.replace('"count": 100', '"count": 99')),
    ("contract-damaged", GOOD.replace('"product": [[0, ', '"product": [[7, ')),
    ("contract-damaged", GOOD.replace('"oracle": "grr"', '"oracle": null')),
    ("contract-damaged", GOOD.replace('"codes": ', '"codes": 1')),
    ("contract-too-large", GOOD + " " * MAX_BYTES),
]


@pytest.mark.parametrize(("code", "text"), DAMAGED)
def test_damaged_contracts_are_refused(code: str, text: str) -> None:
    assert text != GOOD
    with pytest.raises(ContractError) as caught:
        tc.Collection.from_json(text)
    assert caught.value.code == code


def test_what_cannot_work_is_refused_with_what_would() -> None:
    with pytest.raises(LayoutError) as views:
        tc.Collection(ordinals(8, 625), 1.0, mechanism="hio")
    assert views.value.code == "too-many-views"
    assert "sc" in views.value.message
    with pytest.raises(LayoutError) as codes:
        tc.Collection(ordinals(6, 1000), 1.0, mechanism="fc")
    assert codes.value.code == "codes-too-large"
    assert "am(2)" in codes.value.message
    with pytest.raises(LayoutError) as marginal:
        tc.Collection(ordinals(2, 10), 1.0, mechanism="am(3)")
    assert marginal.value.code == "mechanism-number"
    with pytest.raises(LayoutError):
        tc.Collection(ordinals(2, 10), 1.0, mechanism="hio(2)")
    with pytest.raises(UnknownNameError) as name:
        tc.Collection(ordinals(2, 10), 1.0, mechanism="hoi")
    assert "hio" in name.value.message
    with pytest.raises(UnknownNameError):
        tc.Collection(ordinals(2, 10), 1.0, oracle="laplace")
    with pytest.raises(LayoutError) as oracle:
        tc.Collection(ordinals(2, 100), 1.0, oracle="grr")
    assert oracle.value.code == "grr-domain-too-large"
    assert "oracle='auto'" in oracle.value.message
    with pytest.raises(LayoutError) as size:
        tc.Collection(ordinals(5, 625), 1.0, mechanism="hi")
    assert size.value.code == "too-many-channels"
    assert "sc" in size.value.message
    with pytest.raises(SchemaError) as many:
        tc.Categorical("c", [f"value number {i}" for i in range(20_000)])
    assert many.value.code == "domain-too-large"


@pytest.mark.parametrize("arguments", [("schema", 1.0), (ordinals(1, 5), 0), (ordinals(1, 5), float("inf"))])
def test_arguments_are_checked(arguments: tuple[object, object]) -> None:
    with pytest.raises(UsageError):
        tc.Collection(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("round_name", [7, "x" * 101, "a\nb"])
def test_rounds_are_short_printable_text(round_name: object) -> None:
    with pytest.raises(SchemaError):
        tc.Collection(ordinals(1, 5), 1.0, round=round_name)  # type: ignore[arg-type]


def test_large_layouts_stay_small_contracts() -> None:
    collection = tc.Collection(ordinals(10, 9, fanout=3), 1.0, mechanism="hio")
    assert len(collection.contract.services[0].channels[0].views) == 3**10
    assert len(collection.to_json().encode()) < MAX_BYTES
    pairs = tc.Collection(ordinals(60, 64), 8.0, mechanism="am(2)")
    assert len(pairs.to_json().encode()) < MAX_BYTES
    assert collection.audit().ok
    assert pairs.audit().ok


def test_views_follow_the_papers() -> None:
    one = tc.Collection(ordinals(1, 125), 1.0, mechanism="hio").contract.services[0]
    assert [view.levels for view in one.channels[0].views] == [(1,), (2,), (3,)]
    two = tc.Collection(ordinals(2, 25), 1.0, mechanism="hio").contract.services[0]
    assert len(two.channels[0].views) == 9
    budgets = {
        mechanism: [
            channel.epsilon
            for channel in tc.Collection(ordinals(2, 25), 1, mechanism=mechanism).contract.services[0].channels
        ]
        for mechanism in ("hi", "sc", "fc", "am(1)")
    }
    assert [len(budgets[name]) for name in ("hi", "sc", "fc", "am(1)")] == [9, 4, 1, 1]
    assert all(sum(split) == 1 and len(set(split)) == 1 for split in budgets.values())


def test_diff_says_what_changed_and_what_it_costs() -> None:
    age, state = tc.Ordinal("age", 0, 124), tc.Categorical("state", ["CA", "NY"])
    old = tc.Collection(tc.Schema([tc.Service("users", key="uid", attributes=[age])]), 1.0, round="1")
    new_users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 99), state])
    new = tc.Collection(
        tc.Schema([new_users, tc.Service("visits", key="uid", attributes=[tc.Ordinal("n", 0, 9)])]), 1.5, round="2"
    )
    text = str(old.diff(new))
    for part in (
        "round '1' becomes '2'",
        "epsilon 1 becomes 1.5",
        "adds service visits",
        "adds attribute of users: state",
        "users.age: high 124 becomes 99",
        "1 before, 1.5 after",
        "variance",
    ):
        assert part in text
    assert not old.diff(old)
    assert str(old.diff(old)) == "No change."
    assert "removes service visits" in str(new.diff(old))


def test_a_diff_is_empty_exactly_if_the_contracts_are_equal() -> None:
    age, kind = tc.Ordinal("age", 0, 9), tc.Categorical("kind", ["x", "y"])

    def made(*services: list[object], **options: object) -> tc.Collection:
        named = [tc.Service(f"s{i}", key="uid", attributes=each) for i, each in enumerate(services)]  # type: ignore[arg-type]
        return tc.Collection(tc.Schema(named), 1.0, **options)  # type: ignore[arg-type]

    swapped = tc.Schema([tc.Service(name, key="uid", attributes=[age]) for name in ("s1", "s0")])
    flip = str(Grr.build((2,), exp_below(parse_epsilon(1))).flip)
    tampered = tc.Collection.from_json(made([kind]).to_json().replace(flip, str(int(flip) + 1)))
    collections = [
        made([age]),
        made([kind]),
        made([age, kind]),
        made([kind, age]),
        made([age], [age]),
        tc.Collection(swapped, 1.0),
        made([tc.Categorical("age", ["x", "y"])]),
        made([tc.Categorical("kind", ["y", "x"])]),
        made([age], oracle="lh"),
        tampered,
    ]
    for left in collections:
        for right in collections:
            assert bool(left.diff(right)) == (left.id != right.id)


def test_the_reported_loss_never_exceeds_the_budget_as_a_double() -> None:
    schema = ordinals(1, 2)
    for hundredths in range(1, 300):
        epsilon = hundredths / 100
        audit = tc.Collection(schema, epsilon).audit()
        assert audit.ok
        assert audit.worst_loss <= epsilon


def test_collection_files_may_be_json(tmp_path: Path) -> None:
    service = {"name": "s", "key": "uid", "attributes": [{"name": "age", "low": 0, "high": 9}]}
    path = tmp_path / "collection.JSON"
    path.write_text(json.dumps({"epsilon": 1.5, "services": [service]}))
    assert tc.Collection.from_file(path).contract.epsilon == parse_epsilon("1.5")


def test_repr_shows_what_it_is() -> None:
    text = repr(tc.Collection(ordinals(1, 5), 0.5))
    assert "epsilon=0.5" in text
    assert "s;" in text


SMALL = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=99), tc.Boolean("smoker")])


def test_the_smallest_budget_of_a_report_works() -> None:
    collection = tc.Collection(tc.Schema([SMALL]), "0.00001")
    assert collection.audit().ok
    assert collection.predict("SELECT COUNT(*) AS n FROM users WHERE age < 9 AND smoker", users=9)["n"].error > 9


@pytest.mark.parametrize("epsilon", ["0.000009", "0.000000000001"])
def test_smaller_budgets_are_refused(epsilon: str) -> None:
    """They were lost in rounding: designs and decoders divided by zero."""
    with pytest.raises(UsageError) as caught:
        tc.Collection(tc.Schema([SMALL]), epsilon)
    assert caught.value.code == "epsilon-out-of-range"
