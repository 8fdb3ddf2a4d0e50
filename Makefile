# Everything here works on a fresh clone: each target first sets up .venv, once.
PYTHON ?= python3
BIN := .venv/bin
# Set up again only when the list of dependencies changes.
STAMP := .venv/.installed

.PHONY: setup demo test test-slow gpu-test lint format results docs dist
setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up .venv, once: this takes a minute or a few"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/lengthwise demo

results: setup
	$(BIN)/python scripts/write_results.py

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html; to search it, serve it: $(BIN)/python -m http.server --directory build/site"

# make dist REPOSITORY=https://github.com/NAME/lengthwise
dist: setup
	$(BIN)/python scripts/build_dist.py $(REPOSITORY)

test: setup
	scripts/install_chromium.sh
	$(BIN)/pytest --numprocesses auto --quiet

test-slow: setup
	scripts/install_chromium.sh
	scripts/install_triton.sh $(BIN)/python
	$(BIN)/pytest -m slow --numprocesses auto --quiet

gpu-test: setup
	$(BIN)/python scripts/gpu_test.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
