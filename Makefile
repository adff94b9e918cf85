# Every target does its own set-up from a fresh clone: Python 3.11 (or newer) and make suffice.
# Nothing is reinstalled as long as pyproject.toml and constraints.txt stay as they are.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CORE := .venv-core
EXTRAS := .venv-extras
COUNT ?= 100000
SEED ?= 0
INSTALL := python -m pip install --quiet --disable-pip-version-check --constraint

export PIP_ROOT_USER_ACTION := ignore

.PHONY: run test coverage test-core test-papers fuzz lint bench docs docs-serve test-extras clean

run: $(VENV)/.core          ## the main job, on data that ships with scikit-learn
	$(BIN)/ballotine run

test: $(VENV)/.dev          ## everything that must hold: style, types, layers, behaviour
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-core: $(CORE)/.ready   ## the suite without torch and without the papers' package
	$(CORE)/bin/python -m pytest -n 2 --dist worksteal tests

coverage: $(VENV)/.dev      ## branch coverage of what guarantees rest on; fails below 95 %
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov=ballotine.privacy --cov=ballotine.ledger \
		--cov=ballotine.voting --cov-fail-under=95

fuzz: $(VENV)/.dev          ## spoilt files and odd options: make fuzz COUNT=100000 SEED=0
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --count $(COUNT) --seed $(SEED)

lint: $(VENV)/.dev          ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev         ## speed, as ratios against a named baseline in one run
	set -e; for script in benchmarks/bench_*.py; do $(BIN)/python $$script; done

docs: $(VENV)/.docs         ## the documentation site, into site/
	$(BIN)/python -m ballotine.cli.reference docs/cli.md
	$(BIN)/python scripts/layers.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/.docs   ## the documentation site, live
	$(BIN)/mkdocs serve

test-extras: $(EXTRAS)/.ready  ## the suite on NumPy 1.26, with every optional part installed
	$(EXTRAS)/bin/python -m pytest -n 2 --dist worksteal -m "not papers"

test-papers: $(VENV)/.dev   ## the slow tests of the papers' tables and figures
	$(BIN)/python -m pytest -n 2 --dist worksteal -m papers reproduction/tests

$(VENV)/.pip: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(INSTALL) constraints.txt --upgrade pip
	touch $@

$(VENV)/.core: pyproject.toml constraints.txt $(VENV)/.pip
	$(BIN)/$(INSTALL) constraints.txt --editable .
	touch $@

$(VENV)/.dev: reproduction/pyproject.toml $(VENV)/.core
	$(BIN)/$(INSTALL) constraints.txt --editable '.[neural]' --editable reproduction --group test --group lint
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/$(INSTALL) constraints.txt --group docs
	touch $@

$(CORE)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CORE)
	$(CORE)/bin/$(INSTALL) constraints.txt --upgrade pip
	$(CORE)/bin/$(INSTALL) constraints.txt --editable . --group test
	touch $@

# The multi-party engine will need NumPy 1.26 (and so an older Arrow): the optional parts are
# tested on it.
$(EXTRAS)/.ready: pyproject.toml constraints.txt constraints-numpy1.txt
	$(PYTHON) -m venv $(EXTRAS)
	(grep -vE '^(numpy|pandas|pyarrow)==' constraints.txt; cat constraints-numpy1.txt) > $(EXTRAS)/constraints.txt
	$(EXTRAS)/bin/$(INSTALL) $(EXTRAS)/constraints.txt --upgrade pip
	$(EXTRAS)/bin/$(INSTALL) $(EXTRAS)/constraints.txt --editable '.[neural,pld,ray]' --editable 'reproduction[dpsgd]' --group test
	touch $@

clean:
	rm -rf $(VENV) $(CORE) $(EXTRAS) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
