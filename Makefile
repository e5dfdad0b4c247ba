# Everything a developer or a newcomer runs. CI calls the same targets.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test lint setup docs bench conformance clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed (set PYTHON=...)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { echo "the venv module is missing: sudo apt-get install python3-venv"; exit 1; }
	@echo "Installing the Python packages into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMP)-dev: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP)  ## everything the product needs: packages, Docker, sandbox image, documentation index
	@scripts/ensure-docker.sh
	@$(BIN)/amdkernel setup

demo: setup  ## an MCP client takes a kernel through the whole loop
	@$(BIN)/python scripts/demo.py

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: setup $(STAMP)-dev lint
	$(BIN)/pytest -n 2

conformance: setup  ## the MCP conformance suite against the HTTP server
	scripts/conformance.sh

docs: $(STAMP)-dev  ## regenerate the references of the command line and the tools
	$(BIN)/python scripts/generate_docs.py

bench: setup $(STAMP)-dev
	for benchmark in benchmarks/[a-z]*.py; do $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) dist build
