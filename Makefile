# Each target makes the environment it needs, in .venv; a machine needs Python >= 3.11, git and make, no more.
# What was installed is remembered by a stamp, which is out of date when pyproject.toml changed.

PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed-run
DEV := .venv/.installed-dev
WEB := web/node_modules/.installed
CLIENTS := tests/server/clients/node_modules/.installed
# Where a network is slow it is tried again, and never waited for without an end.
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error --fetch-timeout=60000 --fetch-retries=4
# Arguments for pytest: make test ARGS="-k merge -x"
ARGS ?=
# Processes that tests run in: a number, or as many as there are cores; 0: pytest's own process alone, as a debugger needs it
WORKERS ?= auto
# Whole files go to a process, in the order of the folders: those that last come before the many short ones.
# A process that dies ends the run, which then names its test. pytest-xdist (3.8) would start another one, count what the dead one had
# done as work yet to do, and wait for it without an end: https://github.com/pytest-dev/pytest-xdist/issues/1378
SPREAD = -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types architecture format coverage page page-check bench soak fuzz peers clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN)  ## watch a real model's stream become chunks, tool calls, results and an answer; needs no key
	@$(BIN)/python -m headrace.cli.demo

test: $(DEV) $(if $(shell command -v npm),$(CLIENTS))  ## run the tests; NO_SKIPS=1: a skipped test fails; WORKERS=0: in one process; ARGS="...": more arguments for pytest
	$(if $(filter-out 0,$(NO_SKIPS)),HEADRACE_NO_SKIPS=1 )$(BIN)/python -m pytest $(SPREAD) $(ARGS)

check: lint types architecture  ## lint, types, import contracts, architecture (make -k check: all, in spite of a failure)

lint: $(DEV)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## mypy and basedpyright, both strict, on src
	$(BIN)/mypy
	$(BIN)/basedpyright

architecture: $(DEV)  ## who may import whom, and the other rules of the house
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(DEV)  ## format, and repair what ruff can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

coverage: $(DEV)  ## run the tests and show what they do not reach
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

page: $(WEB)  ## build the web page into the package; this alone needs node >= 20 and npm
	@node web/build.mjs

page-check: $(WEB)  ## the page's types and tests, and that what is committed is what its sources build
	@cd web && npm run --silent types && npm run --silent test
	@rm -rf web/.fresh && node web/build.mjs web/.fresh
	@diff -r web/.fresh src/headrace/server/page && echo "what is committed is what its sources build" || { echo "make page, and commit src/headrace/server/page"; exit 1; }

bench: $(DEV)  ## measure, side by side with the floor
	$(BIN)/python bench/run.py

soak: $(DEV)  ## an hour or two: kill workers of runs over and over (SOAK=0.1: a tenth of it); a server under load for ten minutes (SECONDS=60: shorter)
	HEADRACE_SOAK=$(or $(SOAK),1) $(BIN)/python -m pytest -n 0 -s -o timeout=0 -o faulthandler_timeout=7200 tests/sessions/test_kill.py tests/durable $(ARGS)
	$(BIN)/python bench/server.py --store memory: --keep-for 90s --seconds $(or $(SECONDS),600)

fuzz: $(DEV)  ## bend streams of every protocol, five minutes each; SECONDS=20: shorter
	$(BIN)/python fuzz/decoders.py --seconds $(or $(SECONDS),300)

peers: $(DEV)  ## ask real clients for broken streams, directly and through the gateway; writes docs/peers.md; about 2 GB of environments
	$(BIN)/python peers/make_environments.py
	$(BIN)/python peers/run.py

clean:  ## remove the environment and every cache
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* htmlcov build dist .peers .shots web/node_modules web/.test web/.fresh tests/server/clients/node_modules

$(WEB): web/package.json web/package-lock.json
	@cd web && $(NPM_CI)
	@touch $@

# The official JavaScript clients, which tests run against the server; without them those tests are skipped.
$(CLIENTS): tests/server/clients/package.json tests/server/clients/package-lock.json
	@cd tests/server/clients && { $(NPM_CI) && touch node_modules/.installed || echo "the JavaScript clients could not be installed"; }

$(RUN): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" sh scripts/environment.sh run
	@touch $@

$(DEV): pyproject.toml scripts/environment.sh
	@PYTHON="$(PYTHON)" sh scripts/environment.sh dev
	@touch $@ $(RUN)
