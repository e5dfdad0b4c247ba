# Everything a developer or a newcomer runs. CI calls the same targets.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# What is installed is the lock and nothing else: `--no-deps` leaves pip nothing to decide, so that neither the version of
# pip nor a release of today matters. `-qq` leaves pip's errors, and no warning for each index that lacks a package.
PIP    := $(BIN)/python -m pip --disable-pip-version-check
LOCKED := $(PIP) install -qq --no-deps --require-hashes --requirement
OWN    := $(PIP) install -qq --no-deps --no-build-isolation --editable .
CHECK  := missing=$$($(PIP) check) || { echo "$$missing"; exit 1; }
LOCK   := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
          --no-emit-index-url --no-annotate --no-header
# The tests of a file share fixtures, so one worker runs them; files with slow tests start first (tests/conftest.py).
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=60

# Where it is set, each of a thousand processes compiles all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo dev test test-all test-selected soak lint types test-types contracts setup docs site sbom lock dist bench conformance clean

$(STAMP): pyproject.toml requirements/product.txt requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed (set PYTHON=...)"; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { echo "the venv module is missing: sudo apt-get install python3-venv"; exit 1; }
	@echo "Installing the Python packages into $(VENV) ..."
	@$(LOCKED) requirements/product.txt --requirement requirements/build.txt
	@$(OWN)
	@$(CHECK)
	@touch $@

$(STAMP)-dev: $(STAMP) requirements/dev.txt
	@[ ! -e $@ ] || rm -f $(STAMP) # what an older lock had must go
	@$(MAKE) --silent $(STAMP)
	@$(LOCKED) requirements/dev.txt
	@$(CHECK)
	@touch $@

setup: $(STAMP)  ## everything the product needs: packages, Docker, sandbox image, documentation index
	@scripts/ensure-docker.sh
	@$(BIN)/amdkernel setup
	@[ "$(MAKECMDGOALS)" != setup ] || echo "Ready. Next: make demo, or $(BIN)/amdkernel install CLIENT"

demo: setup  ## an MCP client takes a kernel through the whole loop
	@$(BIN)/python scripts/demo.py

lint: $(STAMP)-dev  ## style, types, import rules, includes, English, links; two at a time
	@$(MAKE) --no-print-directory --jobs=2 types test-types contracts

types: $(STAMP)-dev
	$(BIN)/mypy

test-types: $(STAMP)-dev
	$(BIN)/mypy --config-file tests/mypy.ini

contracts: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_lock.py
	$(BIN)/python scripts/check_includes.py
	$(BIN)/python scripts/check_english.py
	$(BIN)/python scripts/check_links.py

dev: $(STAMP)-dev  ## the virtual environment with pytest and the linters; no Docker
	@[ "$(MAKECMDGOALS)" != dev ] || echo "Ready. Next: $(BIN)/pytest -q tests/launch, or make lint"

test: setup $(STAMP)-dev lint  ## the gate: all tests but those marked `thorough`
	$(PYTEST) -m "not thorough"

test-all: setup $(STAMP)-dev lint  ## every test; needed after a change of the emulator, and before a release
	$(PYTEST)

TESTS ?= tests
test-selected: setup $(STAMP)-dev  ## the tests of TESTS, the thorough ones as well; MARKS="not soak" leaves the longest out
	$(PYTEST) $(if $(MARKS),-m "$(MARKS)") $(TESTS)

soak: setup $(STAMP)-dev  ## fuzzing, random programs and chaos at their long sizes, bare systems: hours; before a release
	$(PYTEST) -m soak
	AMDK_FUZZ_S=600 RANDOM_PROGRAMS=200 AMDK_CHAOS_JOBS=2000 $(PYTEST) tests/sandbox/emulator_fuzz \
	    tests/sandbox/random_programs tests/team/chaos tests/slurm/test_slurm_chaos.py

conformance: setup $(STAMP)-dev  ## the MCP conformance suite against the HTTP server
	scripts/conformance.sh

docs: $(STAMP)-dev  ## regenerate the references of the command line and the tools
	$(BIN)/python scripts/generate_docs.py

site: $(STAMP)-dev  ## the documentation as a web site, in build/site; a broken link is an error
	$(BIN)/python scripts/generate_docs.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lock: $(STAMP)-dev  ## newest versions that pyproject.toml allows, with hashes, into requirements/ and the image's lock
	$(LOCK) pyproject.toml --output-file requirements/product.txt
	$(LOCK) pyproject.toml --extra team --constraint requirements/product.txt --output-file requirements/team.txt
	$(LOCK) requirements/build.in --constraint requirements/product.txt --output-file requirements/build.txt
	$(LOCK) pyproject.toml requirements/build.in --extra dev --constraint requirements/team.txt --constraint requirements/build.txt --output-file requirements/dev.txt
	$(LOCK) requirements/image.in --output-file sandbox/image/hip-python.txt
	@$(MAKE) --no-print-directory $(STAMP)-dev
	$(BIN)/python scripts/check_lock.py

sbom: $(STAMP)-dev  ## what the product consists of, as CycloneDX, in dist/
	$(BIN)/python scripts/sbom.py

dist: $(STAMP)-dev  ## wheel, source archive and the bundle for desktop clients, in dist/
	$(BIN)/python -m build --no-isolation
	$(BIN)/python scripts/bundles.py

bench: setup $(STAMP)-dev
	for benchmark in benchmarks/[a-z]*.py; do $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) dist build
