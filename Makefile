# Every target does all that it needs on a fresh Debian or Ubuntu machine with git, make, python3 and python3-venv.
.PHONY: help setup native demo test test-long fuzz fuzz-format lint format bench report evaluation readme explainer spec web-demo clean
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

run := scripts/in-env
# Tests wait for drivers and child processes as much as for a processor; more than four workers would only share the GPU.
workers := -n auto --maxprocesses 4 --dist worksteal
checked := cmdgraph llm tests scripts setup.py

help:
	@echo 'make demo       text from a real model, eager and replayed, side by side'
	@echo 'make test       format, lint, types and the test suite (under 10 minutes on 2 cores)'
	@echo 'make test-long  the tests that take minutes each'
	@echo 'make fuzz       random programs against both implementations: N=100000 how many, SEED=1 which, STRATEGY=native'
	@echo 'make fuzz-format  the same with damaged and hostile graph files'
	@echo 'make native     the Vulkan layer of strategy "native" (takes gcc and libvulkan-dev)'
	@echo 'make bench      measures on this machine (under 5 minutes); NAME=lavapipe names the files in spec_proposal/results,'
	@echo '                ON=wgpudawn measures Dawn, ARGS=--full is the long set for a GPU, ARGS="--out FOLDER" puts them elsewhere'
	@echo 'make report     one page from those files, in build/report; FROM=FOLDER OUT=FOLDER, ARGS=--mix takes several commits together'
	@echo 'make evaluation  the same of spec_proposal/results, beside the proposal'
	@echo 'make spec       the text of the proposal, spec_proposal/index.bs, as build/spec/index.html'
	@echo 'make web-demo   the model in the browser: builds build/web-demo and serves it on localhost; PORT=8000, ARGS="--plan fused"'
	@echo 'make readme     makes the tables of README.md from those files; make explainer those of spec_proposal/explainer.md'
	@echo 'make lint       format, lint and types only'
	@echo 'make format     rewrite the sources in the house format'
	@echo 'make setup      .venv with all packages, C compiler, Vulkan driver; the other targets do it themselves'
	@echo 'make clean      remove what was built here, .venv included (the model file stays in the user cache)'

setup:
	@scripts/setup.sh dev

demo:
	@scripts/setup.sh demo
	@$(run) python -m llm fetch >/dev/null
	@$(run) python -m llm demo

test: lint
	@scripts/native.sh optional
	@$(run) python -m llm fetch >/dev/null
	@$(run) pytest -q -m 'not long' $(workers)

test-long: setup
	@scripts/native.sh optional
	@$(run) python -m llm fetch >/dev/null
	@$(run) pytest -m long

fuzz: setup
	@$(run) python -m tests.fuzz --count $(or $(N),10000) --seed $(or $(SEED),0) $(if $(STRATEGY),--strategy $(STRATEGY))

fuzz-format: setup
	@$(run) python -m tests.fuzz_format --count $(or $(N),10000) --seed $(or $(SEED),0)

native: setup
	@scripts/native.sh

lint: setup
	@$(run) ruff format --check --quiet $(checked) || { echo 'lint: make format rewrites the files' >&2; exit 1; }
	@$(run) ruff check --quiet $(checked)
	@$(run) mypy --no-error-summary
	@$(run) scripts/lint_web.sh

format: setup
	@$(run) ruff format $(checked)
	@$(run) ruff check --fix $(checked)

bench: setup
	@$(run) python -m llm fetch >/dev/null
	@$(run) python -m scripts.bench $(NAME) $(if $(ON),--on $(ON)) $(ARGS)

report: setup
	@$(run) python -m cmdgraph report $(or $(FROM),spec_proposal/results) -o $(or $(OUT),build/report) $(ARGS)

evaluation: setup
	@$(run) python -m cmdgraph report spec_proposal/results -o spec_proposal --name evaluation --mix $(ARGS)

readme: setup
	@$(run) python -m scripts.readme

explainer: setup
	@$(run) python -m scripts.explainer_page

spec: setup
	@scripts/spec.sh

web-demo:
	@scripts/setup.sh demo
	@$(run) python -m llm fetch >/dev/null
	@$(run) python -m scripts.web_demo --port $(or $(PORT),8000) $(ARGS)

clean:
	rm -rf .venv .cache build dist *.egg-info spec_proposal/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find cmdgraph llm tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f cmdgraph/replay/_walker.c cmdgraph/bench/_phases.c cmdgraph/*/_*.so cmdgraph/native/*.so cmdgraph/native/VkLayer_cmdgraph.json
