# `make` lists what there is. Every target sets the checkout up first; once done, that takes a moment.

# The first of these that is in range; the environment is made with it.
BASE_PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { echo $$p; break; }; done)
PYTHON := .venv/bin/python
GO := $(CURDIR)/.local/bin/go
STACK := $(PYTHON) -m local.stack

.DEFAULT_GOAL := help
.PHONY: help setup setup-tests demo call phone stack stop status logs test test-unit coverage check bench lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## install and build what is missing
	@$(need-python)
	@$(BASE_PYTHON) -m local.setup

setup-tests: ## setup, and what only the tests need (sipp, a browser)
	@$(need-python)
	@$(BASE_PYTHON) -m local.setup --for-tests

demo: setup ## start everything and print where to look; Ctrl-C stops it (DETACH=1: returns at once)
	@$(STACK) up $(if $(DETACH),,--follow)

call: setup ## a story in the terminal: a caller is remembered
	@$(PYTHON) -m local.story

phone: setup ## a phone on the running demo: ARGS='answer +15551234567 --say "…"' or 'dial +15105550100'
	@$(PYTHON) -m local.phone $(ARGS)

stack: setup ## start everything and return
	@$(STACK) up

stop: ## stop everything
	@if [ -x $(PYTHON) ]; then $(STACK) down; fi

status: ## what works (exit 0: all of it)
	@$(STACK) status

logs: ## follow the logs of all parts
	@$(STACK) logs --follow

test: setup-tests ## everything CI runs
	cd local/sip_bridge && $(GO) vet ./... && $(GO) test ./...
	@$(MAKE) --no-print-directory check
	@$(STACK) down --erase --name test
	@trap '$(STACK) down --name test >/dev/null' EXIT; $(PYTHON) -m pytest $(ARGS)

test-unit: setup ## the tests that need no other process
	@$(PYTHON) -m pytest tests/unit tests/architecture $(ARGS)

coverage: setup ## branches of services and API that unit and contract tests reach; fails below 95 %
	@$(PYTHON) -m pytest tests/unit tests/contract --cov=src/services --cov=src/api --cov-branch \
		--cov-report=term:skip-covered --cov-fail-under=95 $(ARGS)

check: setup ## format, lint, types, layers
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy
	@.venv/bin/lint-imports

bench: setup ## benchmarks; ONLY=name for one
	@for name in $(or $(ONLY),$(basename $(notdir $(filter-out %/__init__.py %/_%,$(wildcard bench/*.py))))); do \
		$(PYTHON) -m bench.$$name || exit 1; done

lock: setup ## write both lock files anew from pyproject.toml
	@$(compile) -o requirements.lock
	@$(compile) --group dev -o requirements-dev.lock

clean: stop ## delete what setup made and the data of the stacks
	@if [ -x $(PYTHON) ]; then $(STACK) down --name test; $(STACK) down --name spare; fi
	rm -rf .local .venv web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

compile = .local/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header -q pyproject.toml
need-python = if [ -z "$(BASE_PYTHON)" ]; then \
	echo "Python 3.11, 3.12 or 3.13 is needed (Debian 12, Ubuntu 24.04: sudo apt-get install python3)"; exit 1; fi
