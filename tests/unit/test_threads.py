"""BLAS has one thread while tacit computes, and as many as before afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info

import tacit as tc
from tacit.estimate.threads import one_thread

SCHEMA = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", low=0, high=9)])])


def blas_threads() -> int:
    """Return the threads of numpy's BLAS; other tests may have loaded scipy's, which tacit does not use."""
    return max(one["num_threads"] for one in threadpool_info() if "numpy" in one["filepath"])


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    limit = ThreadpoolController().limit(limits=2, user_api="blas")
    OpenBLASController.clear_controlling_thread()
    yield
    limit.restore_original_limits()
    OpenBLASController.clear_controlling_thread()


def test_a_collection_is_compiled_on_one_thread():
    seen = []

    def questions() -> Iterator[str]:
        seen.append(blas_threads())
        yield "SELECT AVG(age) AS mean FROM users"

    tc.Collection(SCHEMA, epsilon=1, questions=questions())
    assert seen == [1]
    assert blas_threads() == 2


def test_a_question_is_answered_on_one_thread():
    seen = []

    class Parameters(list):
        def __iter__(self) -> Iterator[int]:
            seen.append(blas_threads())
            return super().__iter__()

    collection = tc.Collection(SCHEMA, epsilon=1)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users={"uid": range(100), "age": [4] * 100}))
    db.sql("SELECT COUNT(*) AS people FROM users WHERE age > ?", Parameters([3]))
    assert set(seen) == {1}
    assert blas_threads() == 2


def test_an_error_restores_the_threads():
    with pytest.raises(tc.TacitError):
        tc.Collection(SCHEMA, epsilon=-1)
    assert blas_threads() == 2


def test_the_last_of_several_computations_restores_the_threads():
    """A context of threadpoolctl for each would leave one thread: the second saves what the first has set."""
    inside, leave = threading.Barrier(2), threading.Event()

    def compute() -> None:
        with one_thread:
            inside.wait()
            leave.wait()

    other = threading.Thread(target=compute)
    with one_thread:
        other.start()
        inside.wait()
    assert blas_threads() == 1
    leave.set()
    other.join()
    assert blas_threads() == 2
