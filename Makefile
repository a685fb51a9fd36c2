# One entry for people and for CI. `make` prints the targets; ARGS="…" is passed on to what a target runs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup serve dev test soak bench types reference fix lock third-party

ARGS ?=
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
NPM := npm --prefix ui
STATIC := src/planwerk/server/static
SYNCED := .venv/.synced
INSTALLED := ui/node_modules/.installed
BUILT := $(STATIC)/index.html
UI_SOURCES := $(shell find ui \( -name node_modules -o -name dist -o -name coverage \) -prune -o -type f ! -name '*.tsbuildinfo' -print)

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  ARGS="…" passes on: make serve ARGS="--port 8400 --data DIR", make test ARGS=tests/workflow, make bench ARGS="chain --json"'

setup: $(SYNCED) $(BUILT) ## Make .venv from the locks and build the web UI, as far as they changed

serve: setup ## Start Planwerk and print its address
	@exec $(BIN)/planwerk serve $(ARGS)

dev: $(SYNCED) $(INSTALLED) ## Start the server and the UI so that both reload when a file is saved
	@exec $(BIN)/python tools/dev.py $(ARGS)

test: setup ## Run what CI runs; ARGS narrows it to pytest with these arguments
ifeq ($(strip $(ARGS)),)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/write_types.py --check
	$(BIN)/python tools/write_third_party.py --check
	$(BIN)/python tools/write_errors.py --check
	$(BIN)/python tools/write_settings.py --check
	$(BIN)/python tools/write_cli.py --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/pyright
	$(NPM) run lint
	$(NPM) test
endif
	$(BIN)/pytest $(ARGS)

soak: setup ## Run the long form: soak tests, and property tests with many more examples
	HYPOTHESIS_PROFILE=soak PLANWERK_SOAK=1 $(BIN)/pytest -m "soak or not soak" $(ARGS)

bench: $(SYNCED) ## Run a benchmark beside its peers: ARGS="chain --json"; without ARGS list them
	@$(BIN)/python -m bench $(ARGS)

types: $(SYNCED) $(INSTALLED) ## Write ui/src/api from the server's OpenAPI document and the events' schema
	$(BIN)/python tools/write_types.py

reference: $(SYNCED) ## Write the pages of docs/ that are read from the code: errors, settings, commands
	$(BIN)/python tools/write_errors.py
	$(BIN)/python tools/write_settings.py
	$(BIN)/python tools/write_cli.py

fix: $(SYNCED) $(INSTALLED) ## Repair what tools can repair: format and lint of Python and the UI
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NPM) run fix

lock: $(SYNCED) ## Write the locks anew from pyproject.toml; ARGS=--upgrade takes newer versions
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url \
		--python-version 3.11 $(ARGS) pyproject.toml -o requirements/core.txt
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url \
		--python-version 3.11 --group dev --extra bench $(ARGS) pyproject.toml -o requirements/dev.txt

third-party: $(SYNCED) $(INSTALLED) ## Write THIRD_PARTY.md from the locks
	$(BIN)/python tools/write_third_party.py

.venv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Planwerk needs Python 3.11 or newer; set PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet "uv==$$(sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements/dev.txt)"

$(SYNCED): requirements/core.txt requirements/dev.txt pyproject.toml | .venv/bin/uv
	$(BIN)/uv pip sync --quiet --python $(BIN)/python requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(INSTALLED): ui/package.json ui/package-lock.json
	$(NPM) ci --no-audit --no-fund
	@touch $@

$(BUILT): $(INSTALLED) $(UI_SOURCES)
	$(NPM) run build
	@touch $@
