# Two commands matter: `make demo` and `make test`. Both install what they need into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint slow bench docs clean

demo: $(VENV)/base
	@$(BIN)/fairtrial demo

test: $(VENV)/dev
	@$(BIN)/pytest

slow: $(VENV)/dev
	@$(BIN)/pytest -m slow

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/generate.py --check

docs: $(VENV)/dev
	$(BIN)/python tools/generate.py

bench: $(VENV)/dev
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/client.py --quick

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fairtrial needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/base: $(VENV)/pip pyproject.toml
	@echo "installing fairtrial into $(VENV) ..."
	@$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/dev: $(VENV)/base
	@echo "installing the development tools into $(VENV) ..."
	@$(BIN)/pip install --quiet --group dev
	@touch $@
