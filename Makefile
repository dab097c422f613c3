# Two commands matter: `make demo` and `make test`. Each installs what it needs into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
FILES := src tests bench docs

.PHONY: demo test hostile engines crashes faults bench lint docs lock clean

demo: .venv/run.done
	@$(BIN)/tacit demo

test: lint
	$(BIN)/python -m pytest -n 2 -q

hostile: .venv/dev.done
	TACIT_HOSTILE_TEXTS=100000 $(BIN)/python -m pytest -n 2 -q tests/sql/test_hostile_text.py
	TACIT_FUZZ_CASES=20000 $(BIN)/python -m pytest -n 2 -q tests/server/test_fuzz.py
	TACIT_CONTRACT_MUTANTS=100000 $(BIN)/python -m pytest -q -rP tests/clients/test_contracts.py -k decide_alike

engines: .venv/dev.done
	TACIT_ALL_CASES=1 TACIT_REQUIRE_ALL=1 $(BIN)/python -m pytest -n 2 -q tests/engines

crashes: .venv/dev.done
	TACIT_CRASH_ROUNDS=200 $(BIN)/python -m pytest -q tests/server/test_crashes.py

faults: .venv/dev.done
	$(BIN)/python -m bench.faults.run --minutes 60

lint: .venv/dev.done
	$(BIN)/ruff check $(FILES)
	$(BIN)/ruff format --check $(FILES)
	$(BIN)/mypy

bench: .venv/bench.done
	$(BIN)/python -m bench.start.run --slice
	$(BIN)/python -m bench.encode.run --slice
	$(BIN)/python -m bench.speed.run --slice
	@test -z "$(DATA)" || $(BIN)/python -m bench.mda.run --slice --data "$(DATA)"
	@test -z "$(DATA)" || $(BIN)/python -m bench.dpcube.run --slice --data "$(DATA)"
	$(BIN)/python -m bench.joint.run --slice
	$(BIN)/python -m bench.joint.speed --slice
	$(BIN)/python -m bench.ingest.run --slice
	@test -z "$(DATA)" || $(BIN)/python -m bench.ranges.run --slice --data "$(DATA)"

docs: .venv/dev.done
	$(BIN)/python -m docs.generate

lock: .venv/dev.done
	$(PIP) install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra build -o requirements/run.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra build --extra dev -o requirements/dev.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra build --extra bench -o requirements/bench.lock $(LOCK)
LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: install it and run make again."; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is too old: Python 3.11 or newer is needed. Run make PYTHON=/path/to/python3.11."; exit 2; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo "No virtual environment can be made: install the venv module (Debian: python3-venv)."; exit 2; }

.venv/%.done: requirements/%.lock pyproject.toml | .venv/bin/python
	@echo "Installing $* requirements into .venv …"
	@$(PIP) install --quiet --require-hashes -r requirements/$*.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
