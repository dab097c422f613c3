"""Synthetic people of several services: keys, types, public columns, and what depends on what.

30,000 people at epsilon 12 in all; dependences are compared with those of the data, and with none, which is rejected.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc

PEOPLE, MADE = 30_000, 8_000


@pytest.fixture(scope="module")
def data() -> dict[str, dict[str, np.ndarray]]:
    source = np.random.default_rng(2)
    age = np.clip(source.normal(16, 6, PEOPLE), 0, 31).astype(int)
    owner = np.repeat(np.arange(PEOPLE), source.integers(0, 4, PEOPLE))
    sex = source.integers(0, 2, PEOPLE)
    return {
        "person": {
            "uid": np.arange(PEOPLE),
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "region": sex + source.integers(0, 2, PEOPLE),
        },
        "job": {"uid": np.arange(PEOPLE), "income": np.clip(age // 2 + source.integers(-1, 2, PEOPLE), 0, 15)},
        "buys": {"uid": owner, "spend": np.clip(age[owner] // 4 + source.integers(0, 2, len(owner)), 0, 7)},
    }


@pytest.fixture(scope="module")
def db(data: dict[str, dict[str, np.ndarray]]) -> tc.Database:
    sex = tc.Categorical("sex", ["f", "m"])
    services = [
        tc.Service("person", key="uid", attributes=[tc.Ordinal("age", 0, 31), sex, tc.Public("region")]),
        tc.Service("job", key="uid", attributes=[tc.Ordinal("income", 0, 15)]),
        tc.Service("buys", key="uid", attributes=[tc.Ordinal("spend", 0, 7)], at_most=3),
    ]
    collection = tc.Collection(tc.Schema(services), 12.0, mechanism="hio")
    made = tc.connect()
    made.create(collection)
    made.load(collection.encode(**data, rng=tc.insecure_rng(1)))
    return made


@pytest.fixture(scope="module")
def people(db: tc.Database) -> dict[str, pa.Table]:
    return db.synthesize_people(MADE, seed=3)


def test_tables_have_the_columns_and_types_of_services(people: dict[str, pa.Table]) -> None:
    assert set(people) == {"person", "job", "buys"}
    assert people["person"].schema.names == ["uid", "age", "sex", "region"]
    assert people["person"].schema.types == [pa.int64(), pa.int64(), pa.string(), pa.int64()]
    assert people["person"]["uid"].to_pylist() == people["job"]["uid"].to_pylist() == list(range(1, MADE + 1))
    assert not any(column.null_count for table in people.values() for column in table.columns)
    assert set(people["person"]["region"].to_pylist()) == {0, 1, 2}


def test_people_have_several_rows_or_none(people: dict[str, pa.Table]) -> None:
    """1.5 rows a person; the error of the mean is .02 with the noise, and a row for everybody is 25 errors off."""
    rows = np.bincount(people["buys"]["uid"].to_numpy(), minlength=MADE + 1)[1:]
    assert abs(rows.mean() - 1.5) < 0.12
    assert rows.max() <= 3
    assert (rows == 0).any()


def test_services_depend_on_each_other(people: dict[str, pa.Table], data: dict[str, dict[str, np.ndarray]]) -> None:
    """Correlations across services are near those of the data (.95 and .93); independent services have none."""
    age = people["person"]["age"].to_numpy()
    assert abs(np.corrcoef(age, people["job"]["income"].to_numpy())[0, 1] - 0.95) < 0.06
    buys = people["buys"]
    truth = np.corrcoef(data["person"]["age"][data["buys"]["uid"]], data["buys"]["spend"])[0, 1]
    assert abs(np.corrcoef(age[buys["uid"].to_numpy() - 1], buys["spend"].to_numpy())[0, 1] - truth) < 0.1


def test_public_columns_depend_on_sensitive_ones(people: dict[str, pa.Table]) -> None:
    """Region 0 has no men, region 2 no women, region 1 both; independent columns would have half of each."""
    sex, region = (np.array(people["person"][name].to_pylist()) for name in ("sex", "region"))
    shares = [np.mean(sex[region == one] == "m") for one in range(3)]
    assert shares[0] < 0.1
    assert abs(shares[1] - 0.5) < 0.1
    assert shares[2] > 0.9


def test_rows_of_one_service_have_public_columns(db: tc.Database) -> None:
    rows = db.synthesize(500, service="person", seed=1)
    assert rows["region"].null_count == 0
    assert rows.equals(db.synthesize(500, service="person", seed=1))


def test_progress_is_told(db: tc.Database) -> None:
    told: list[tuple[int, int]] = []
    db.synthesize_people(10, ["job", "person"], progress=lambda done, count: told.append((done, count)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(("people", "code"), [(0, "bad-option"), (True, "bad-option")])
def test_numbers_are_checked(db: tc.Database, people: int, code: str) -> None:
    with pytest.raises(tc.TacitError) as refused:
        db.synthesize_people(people)
    assert refused.value.code == code
