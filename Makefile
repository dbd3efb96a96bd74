# Everything a newcomer needs: `make demo` shows it, `make test` checks it. Python and make are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

ATTACK_SEEDS := 1 2 3
LAB_INPUTS := pyproject.toml lab/pyproject.toml

.PHONY: demo lab install-lab test test-pythons test-lowest check format bench attack test-heavy test-slow test-integrations wheel-check docs clean help

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

demo: $(VENV)/installed  ## install into .venv and see recollect at work on its sample conversation
	$(BIN)/recollect demo

lab: $(VENV)/installed-lab  ## install the laboratory and compare all recipes, with recorded replies of a model
	$(BIN)/recollect demo --all

install-lab: $(VENV)/installed-lab  ## add the laboratory (evaluation, recordings, rehearsals) to .venv

test: $(VENV)/installed-dev  ## install what tests need and run them, those of the laboratory too
	$(BIN)/python -m pytest -n auto

test-pythons: $(VENV)/installed-dev  ## run the short suite on every other Python that the package claims and this machine has
	$(BIN)/python tools/short_suite.py pythons

test-lowest: $(VENV)/installed-dev  ## run the short suite with the lowest versions of the dependencies
	$(BIN)/python tools/short_suite.py lowest

check: $(VENV)/installed-dev  ## format, lint, types, import contracts, complexity
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config lab/pyproject.toml

format: $(VENV)/installed-dev  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed-dev  ## write docs/reference anew from the docstrings and the help texts
	$(BIN)/python docs/generate.py

bench: $(VENV)/installed-dev  ## measure the engine at 1,000, 10,000 and 100,000 items (minutes)
	$(BIN)/python -m benchmarks.engine --items 1000 10000 100000 --out benchmarks/results/engine.json

attack: $(VENV)/installed-dev  ## kill, damage and confuse a store 2,100 times and hold it against a plain model (about an hour)
	for seed in $(ATTACK_SEEDS); do $(BIN)/python -m benchmarks.attack --kills 700 --operations 70000 --seed $$seed || exit 1; done

test-heavy: $(VENV)/installed-dev  ## the tests that need torch (gigabytes, minutes)
	$(PIP) install torch sentence-transformers
	$(BIN)/python -m pytest -m heavy

test-slow: $(VENV)/installed-dev  ## the tests that need a bank of 100,000 items (minutes)
	$(BIN)/python -m pytest -m slow -n 0

test-integrations: $(VENV)/installed-dev  ## the adapters' tests, Chroma's among them (300 MB)
	$(PIP) install --group integrations
	$(BIN)/python -m pytest tests/integrations lab/tests/rivals -n auto

wheel-check: $(VENV)/installed-dev  ## build the wheel, install it into an empty environment, run the demo there, and the laboratory's beside it
	PYTHON=$(abspath $(BIN)/python) sh tools/wheel-check.sh

clean:           ## remove what make has made
	rm -rf $(VENV) dist build

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/installed-lab: $(LAB_INPUTS) $(VENV)/installed
	$(PIP) install --editable . --editable lab
	@touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/installed-lab
	$(PIP) install --group dev
	@touch $@
