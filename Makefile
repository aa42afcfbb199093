# Two commands: `make serve` and `make test`. Everything else is for maintainers.
PYTHON ?= python3
BIN := .venv/bin
UV := .venv-lock/bin/uv
LOCK := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

.PHONY: serve test check soak bench docs lock clean

serve: .venv/.run
	$(BIN)/turnlog serve

test: .venv/.dev check
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not soak"

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: .venv/.dev
	$(BIN)/pytest -q -m soak

bench: .venv/.run
	$(BIN)/python -m bench

docs: .venv/.run
	$(BIN)/python -m turnlog.testing.manual .

# A private environment with exactly the pinned packages, and turnlog itself.
.venv/.run: requirements/run.txt pyproject.toml
	@echo "Making a private environment in .venv (once, about a minute) ..."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

.venv/.dev: .venv/.run requirements/dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@

# The pins, written again from pyproject.toml. Holds no address of any index.
lock:
	test -x $(UV) || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install -q uv)
	$(LOCK) pyproject.toml --group build -o requirements/run.txt
	$(LOCK) --group dev -c requirements/run.txt -o requirements/dev.txt

clean:
	rm -rf .venv .venv-lock .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
