# Everything lives in $(VENV). A stamp file there remembers each installation, so that a
# second run installs nothing unless a pyproject.toml has changed.
#
#   make demo PYTHON=/path/to/python    use this interpreter instead of looking for one
#   make test ARGS="-k kll"             hand arguments on to pytest, or to the measuring of speed

VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTHON ?=
ARGS   ?=

# mist-tree, and its sibling with the benchmark and the paper: `make demo` installs the first only.
PROJECTS := pyproject.toml bench/pyproject.toml

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: demo test test-capymoa bench-capymoa lint size fuzz fuzz-models compat audit bench-speed wheel docs format clean help

demo: $(VENV)/.installed-run ## install the package and run the demonstration
	$(BIN)/mist demo

test: $(VENV)/.installed-dev ## run the tests and the examples in the docstrings, in parallel
	$(BIN)/python -m pytest $(ARGS)

# CapyMOA asks for an older pandas than ours, so it has an environment of its own.
test-capymoa: ## ask of our models what CapyMOA asks of a classifier (needs Java)
	$(MAKE) --no-print-directory VENV=$(VENV)-capymoa $(VENV)-capymoa/.installed-capymoa
	$(VENV)-capymoa/bin/python -m pytest -n 0 tests/interop/test_capymoa_adapter.py src/mist/interop/capymoa.py \
	    bench/tests/bench/test_capymoa_rivals.py bench/src/mist_bench/capymoa_runs.py $(ARGS)

bench-capymoa: ## run CapyMOA's classifiers on the streams of the drift suite (needs Java)
	$(MAKE) --no-print-directory VENV=$(VENV)-capymoa $(VENV)-capymoa/.installed-capymoa
	$(VENV)-capymoa/bin/python -m mist_bench.capymoa_rivals $(ARGS)

lint: $(VENV)/.installed-dev ## check style, layout and types, change nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

size: $(VENV)/.installed-dev ## print the size of the package by folder, and what is longest
	$(BIN)/python benchmarks/size.py $(ARGS)

format: $(VENV)/.installed-dev ## put the code into the project's layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(VENV)/.installed-fuzz ## fuzz all that reads a file, ten minutes a target
	$(BIN)/python fuzz/run.py $(ARGS)

fuzz-models: $(VENV)/.installed-dev ## do to models all that users do, 100,000 steps beside the slow twin
	$(BIN)/python fuzz/stateful.py $(ARGS)

compat: $(VENV)/.installed-dev ## run tests with the oldest and newest of what we stand on
	$(PIP) packaging uv
	$(BIN)/python benchmarks/compatibility.py $(ARGS)

audit: $(VENV)/.installed-run ## ask whether advisories are known of what is installed
	$(PIP) pip-audit
	$(BIN)/pip-audit --skip-editable $(ARGS)

bench-speed: $(VENV)/.installed-dev ## measure speed and memory beside other libraries
	$(BIN)/python benchmarks/bench_speed.py $(ARGS)

# The code in it is for this Python, the installed Numba and processors with AVX2; see performance.md.
wheel: $(VENV)/.installed-dev ## build a wheel with compiled code, whose first start takes a second
	rm -rf dist
	$(BIN)/python packaging/ready_code.py src/mist/ready_code
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist . ; status=$$?; \
	    rm -rf src/mist/ready_code; exit $$status

docs: $(VENV)/.installed-docs ## build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## remove the environment, caches and everything that was built
	rm -rf $(VENV) $(VENV)-capymoa site dist build bench/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src bench tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

$(VENV)/.installed-run: pyproject.toml | $(VENV)/.created
	@echo "Installing mist-tree into $(VENV) (needed once, takes a few minutes) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(PROJECTS) | $(VENV)/.created
	@echo "Installing mist-tree and the development tools into $(VENV) (needed once, takes a few minutes) ..."
	@$(PIP) --editable '.[dev]' --editable ./bench
	@touch $@

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev
	@$(PIP) --editable '.[fuzz]'
	@touch $@

$(VENV)/.installed-docs: $(PROJECTS) | $(VENV)/.created
	@echo "Installing mist-tree and the documentation tools into $(VENV) (needed once, takes a few minutes) ..."
	@$(PIP) --editable '.[docs]' --editable ./bench
	@touch $@

$(VENV)/.installed-capymoa: $(PROJECTS) | $(VENV)/.created
	@echo "Installing mist-tree and CapyMOA into $(VENV) (needed once, takes a few minutes) ..."
	@$(PIP) --editable '.[capymoa]' --editable ./bench hypothesis pytest pytest-xdist
	@touch $@

# A name on the PATH may be a shim without an interpreter behind it, and Debian ships python3
# without ensurepip: so each candidate is asked, not just found.
$(VENV)/.created:
	@found=; bare=; \
	for candidate in $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3 python); do \
	    "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    if "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then found=$$candidate; break; fi; \
	    bare=$${bare:-$$candidate}; \
	done; \
	if [ -z "$$found" ] && [ -n "$$bare" ]; then \
	    version=$$("$$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "$$bare (Python $$version) cannot make a virtual environment: its modules venv and ensurepip are missing." >&2; \
	    echo "On Debian and Ubuntu install the package python3-venv (or python$$version-venv), then run make again." >&2; \
	    exit 1; \
	fi; \
	if [ -z "$$found" ]; then \
	    echo "No Python 3.11 or newer found (tried: $(or $(PYTHON),python3.14 ... python3.11, python3, python))." >&2; \
	    echo "Install one, or name it: make $(or $(firstword $(MAKECMDGOALS)),demo) PYTHON=/path/to/python3.12" >&2; \
	    exit 1; \
	fi; \
	echo "Creating $(VENV) with $$found ..."; \
	"$$found" -m venv $(VENV) || { \
	    echo "$$found could not create $(VENV). On Debian and Ubuntu the package python3-venv is needed." >&2; exit 1; }
	@touch $@
