# Everything here works with Python 3.11 or newer, pip and make; the rest is installed into $(VENV).

PYTHON ?= python3
VENV ?= .venv
ADAPTERS ?= .venv-adapters
# Twice as many as there are cores: tests wait for processes and servers as long as they compute.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n < 4 ? 2 * n : 8)))
PYTEST_ARGS ?=
CLIENTS ?= $(HOME)/.cache/everloom-clients
CLIENT_PACKAGES := @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @qwen-code/qwen-code @github/copilot
EXTRA ?= dev
LISTED ?= constraints.txt

BIN := $(VENV)/bin
# Unbuffered and not quiet: a first installation takes a minute or two, and shows package by package that it goes on.
PIP := PYTHONUNBUFFERED=1 $(BIN)/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-clients test-adapters coverage lint format types contracts check mcpb constraints constraints-adapters clean
.DELETE_ON_ERROR:

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.ready-all ## Install what is needed and serve
	$(BIN)/everloom serve

# loadgroup spreads single tests over the workers, and keeps tests that share an xdist_group (those that load every core)
# on one worker, so that they never run side by side.
test: $(VENV)/.ready-dev ## Run the tests on SQLite and PostgreSQL (PYTEST_ARGS="-k words" narrows them)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(PYTEST_ARGS)

test-long: $(VENV)/.ready-dev ## Run the tests that take minutes
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m long --timeout 3600 --hypothesis-profile long $(PYTEST_ARGS)

# The programs of AI clients, with a Node that is new enough for them; once installed they are kept.
test-clients: $(VENV)/.ready-dev ## Run the tests with real AI clients, which npm installs into a cache
	@mkdir -p $(CLIENTS)
	npm install --prefix $(CLIENTS) --no-audit --no-fund --loglevel=error node@22
	PATH="$(CLIENTS)/node_modules/.bin:$$PATH" npm install --prefix $(CLIENTS) --no-audit --no-fund --loglevel=error $(CLIENT_PACKAGES)
	EVERLOOM_TEST_CLIENTS=$(CLIENTS) $(BIN)/python -m pytest -m clients tests/clients $(PYTEST_ARGS)

# In an environment of their own: some frameworks need older versions than we do of what they share with us.
test-adapters: $(ADAPTERS)/.ready ## Run the tests of the adapters, with every agent framework
	$(ADAPTERS)/bin/python -m pytest -n $(WORKERS) tests/surfaces/adapters --cov --cov-config tests/surfaces/adapters/coverage.toml

coverage: $(VENV)/.ready-dev ## Run the tests and show what they do not reach
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --cov --cov-report term-missing $(PYTEST_ARGS)

lint: $(VENV)/.ready-dev ## Check style and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.ready-dev ## Format the code and repair what can be repaired
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/.ready-dev ## Check types
	$(BIN)/mypy

contracts: $(VENV)/.ready-dev ## Check that dependencies point down
	$(BIN)/lint-imports --no-logo

check: lint types contracts test ## Check everything

mcpb: $(VENV)/.ready-all ## Make the bundle for clients that install with a click (dist/*.mcpb)
	$(BIN)/python -m release.bundle

constraints: $(VENV)/bin/python ## Renew constraints.txt with the newest versions that fit
	@echo "resolving the newest versions"
	@rm -rf $(VENV)/fresh && $(BIN)/python -m venv $(VENV)/fresh
	@$(VENV)/fresh/bin/python -m pip --disable-pip-version-check -qq install -e '.[$(EXTRA)]'
	@{ echo "# Exact versions of everything that the $(EXTRA) extra installs. Renew with: make $(LISTED:.txt=)"; \
	   $(VENV)/fresh/bin/python -m pip --disable-pip-version-check freeze --exclude-editable | LC_ALL=C sort -f; \
	 } > $(LISTED).new
	@if grep -n ' @ \|://\|^-e' $(LISTED).new; then echo "only exact versions belong there" >&2; rm $(LISTED).new; exit 1; fi
	@mv $(LISTED).new $(LISTED) && rm -rf $(VENV)/fresh
	@echo "$(LISTED) lists $$(grep -c == $(LISTED)) packages"

constraints-adapters: $(VENV)/bin/python ## Renew constraints-adapters.txt with the newest versions that fit
	@$(MAKE) --no-print-directory constraints VENV=$(VENV) EXTRA=dev-adapters LISTED=constraints-adapters.txt

clean: ## Remove the environment, caches and reports
	rm -rf $(VENV) $(ADAPTERS) .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Some systems ship Python without ensurepip; then the system's pip puts a pip into the environment.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "everloom needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
	  echo "Name another one: make PYTHON=/path/to/python3.11 …" >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV) && $(PYTHON) -m venv --without-pip $(VENV) \
	  && $(PYTHON) -m pip -qq --python $(VENV)/bin/python install pip; } || { rm -rf $(VENV); exit 1; }

$(VENV)/.ready-all: $(INPUTS) | $(VENV)/bin/python
	@echo "installing everloom into $(VENV), once; this takes a minute or two"
	@$(PIP) install -c constraints.txt -e '.[all]'
	@touch $@

$(VENV)/.ready-dev: $(INPUTS) | $(VENV)/bin/python
	@echo "installing everloom and its development tools into $(VENV), once; this takes a minute or two"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.ready-all

# Without bytecode: the tests need a small part of what is installed.
$(ADAPTERS)/.ready: pyproject.toml constraints-adapters.txt
	@$(MAKE) --no-print-directory VENV=$(ADAPTERS) $(ADAPTERS)/bin/python
	@echo "installing everloom and the agent frameworks into $(ADAPTERS), once; this takes a minute or two"
	@PYTHONUNBUFFERED=1 $(ADAPTERS)/bin/python -m pip --disable-pip-version-check install --no-compile -c constraints-adapters.txt -e '.[dev-adapters]'
	@touch $@
