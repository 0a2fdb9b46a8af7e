# Every command works on a fresh clone; `make` alone lists them.
# The work is done in scripts/, so that it can be read and run by itself.

SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help run run-lan setup setup-test test check fix audit bench soak firefox webkit devices screenshots clients mutants schemas lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## install if needed and start on http://localhost:8765 (ARGS="--port 9000")
	@exec .venv/bin/python -m server $(ARGS)

run-lan: setup ## the same for the local network, over TLS with a certificate of its own (for phones)
	@exec scripts/run-lan.sh $(ARGS)

setup: ## create .venv and install what running needs
	@scripts/setup.sh run

setup-test:
	@scripts/setup.sh test

test: ## everything, including the browser, in about eleven minutes on two cores (ALLOW_SKIP=1 if a part is missing)
	@scripts/test.sh

check: setup-test ## lint, types and the fast tests, in a minute on two cores: before each commit
	@scripts/check.sh fast

fix: setup-test ## let ruff sort the imports and format Python, and prettier format the page
	@.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .
	@scripts/prettier.sh --write

audit: ## ask PyPI's advisories about every package of the locks (needs the network)
	@scripts/audit.sh $(ARGS)

bench: setup-test ## measure the running server; a table here, JSON in bench-results/ (ARGS="--quick")
	@exec .venv/bin/python -m benchmarks $(ARGS)

soak: setup-test ## the full counts of the randomised tests (a share of them: ARGS="--minutes 60")
	@scripts/soak.sh $(ARGS)

firefox: setup-test ## the page in Firefox, which is installed once as root
	@FIREFOX="$$(scripts/firefox.sh)" && export FIREFOX && .venv/bin/pytest tests/e2e/firefox $(ARGS)

webkit: setup-test ## the page in WebKit, Safari's engine, which is installed once as root
	@WEBKIT="$$(scripts/webkit.sh)" && export WEBKIT && .venv/bin/pytest tests/e2e/webkit $(ARGS)

devices: setup-test ## talk with microphone and loudspeaker, on devices of a PulseAudio of its own
	@SOUNDDEVICE="$$(scripts/devices.sh)" && export SOUNDDEVICE && .venv/bin/pytest tests/clients/talk/devices $(ARGS)

clients: setup-test ## six stock clients of OpenAI's Realtime API against the server: a matrix (ARGS="pipecat livekit")
	@exec scripts/clients.sh $(ARGS)

screenshots: setup-test ## take the pictures in docs/ anew
	@CHROMIUM="$$(scripts/chromium.sh)" .venv/bin/python -m tests.e2e.screenshots $(ARGS)

mutants: ## mutation testing of the hook engine and the agent loop (an hour; ARGS="skills_engine.signing*")
	@scripts/setup.sh mutants
	@.venv/bin/python -m scripts.mutants $(ARGS)

schemas: setup ## write docs/schemas, docs/protocol-reference.md and skills_engine/hooks.schema.json from the code
	@scripts/schemas.sh

lock: ## renew requirements*.txt from requirements*.in (ARGS=--upgrade)
	@PYTHON="$$(scripts/find-python.sh)" scripts/lock.sh $(ARGS)

clean: ## remove what the commands above made here
	@rm -rf .venv .cache .certs node_modules frontend/vendor mutants bench-results .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
