# `make demo`, and for changes `make check`, `make test`, `make test-all`. Each installs what it needs into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
FILES := src tests bench docs deploy
WORKERS ?= 4  # of pytest, on two cores: with three, a fifth of the processor was idle, as tests wait for processes and browsers

# Compiled Python is kept, whatever the environment says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.pycache

PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# What a change breaks first, in a minute: see CONTRIBUTING.
CHECK := tests/structure/test_architecture.py tests/structure/test_glossary.py tests/unit tests/vectors tests/privacy \
  tests/property tests/sql/test_planner_is_exact.py tests/server/test_protocol.py tests/cli/test_start_up.py \
  $(addprefix --ignore=tests/privacy/test_,constant_work.py central_epsilon.py trials.py) \
  $(addprefix --ignore=tests/unit/test_,batch.py central_planning.py cli.py doctor.py drafts.py evidence.py proposal.py split.py verdicts.py wide_views.py) \
  --ignore=tests/property/test_shaped_questions.py

.PHONY: demo check quick test test-all compiled hostile engines crashes faults fleet bench lint docs site release lock clean

demo: .venv/run.done
	@$(BIN)/tacit demo

check: .venv/dev.done
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint quick

quick: WORKERS := 2  # nothing waits, and a third worker would import everything once more
quick: .venv/dev.done
	$(PYTEST) $(CHECK)

test: .venv/browser.done
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint compiled
	$(PYTEST)

test-all: .venv/browser.done
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line lint compiled
	TACIT_LONG=1 $(PYTEST) --result=docs/reference/test-all.json

# Once, beside lint, instead of by each worker at its start: Python and pytest keep what they compile.
compiled: .venv/dev.done
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null || true  # what fails is shown by the run

# Some of the same tests, with more of everything: 100,000 hostile texts and contracts, 10,000 requests of each fuzzer.
hostile: .venv/dev.done
	TACIT_LONG=5 $(PYTEST) tests/server/test_fuzz.py tests/server/test_hostile_questions.py
	rm -f docs/reference/hostile.json
	$(BIN)/python tests/hostile.py

engines: .venv/dev.done
	TACIT_LONG=10 TACIT_REQUIRE_ALL=1 $(PYTEST) tests/engines

crashes: .venv/dev.done
	TACIT_LONG=2 $(BIN)/python -m pytest -q tests/server/test_crashes.py

faults: .venv/dev.done
	$(BIN)/python -m bench.faults.run --minutes 60

# Three collectors, PostgreSQL and nginx on loopback, until Ctrl-C: docs/fleet.md.
fleet: .venv/dev.done
	@$(BIN)/python -m deploy.fleet $(COLLECTION)

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
	@test -z "$(DATA)" || $(BIN)/python -m bench.files.run --slice --data "$(DATA)"
	@test -z "$(DATA)" || $(BIN)/python -m bench.ranges.run --slice --data "$(DATA)"

.venv/browser.done: .venv/dev.done
	@$(BIN)/python tests/support/browser.py
	@touch $@

docs: .venv/dev.done
	$(BIN)/python -m docs.generate

# The documentation site of this version into site/, beside those of others; a broken link fails it.
site: .venv/dev.done
	$(BIN)/python docs/site/build.py site

# Wheel, sdist, npm package, lists of parts and checksums into dist/, built twice and compared: docs/publishing.md.
release: .venv/release.done
	$(BIN)/python -m deploy.release dist

lock: .venv/dev.done
	$(PIP) install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra build -o requirements/run.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra build --extra dev --extra docs --extra notebooks -o requirements/dev.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra postgres -o requirements/image.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra build --extra release -o requirements/release.lock $(LOCK)
	$(BIN)/uv pip compile pyproject.toml --extra build --extra bench -o requirements/bench.lock $(LOCK)
LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade

clean:
	rm -rf .venv .pycache .mypy_cache .ruff_cache .pytest_cache .hypothesis

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
