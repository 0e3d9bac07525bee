# Slipway on a bare machine: Python 3.11 (with venv) and make are enough. Everything is installed into .venv.
#
#   SLIPWAY_PYTHON  the Python 3.11 to use       ARGS  passed on, for example  make demo ARGS="--fail deploy:r3-control-*"
#   SLIPWAY_PORT    Airflow's port (8080)        SLIPWAY_HOME  databases, logs, passwords (.slipway)

SHELL = /bin/sh
.SHELLFLAGS = -euc
.DEFAULT_GOAL = help
.DELETE_ON_ERROR:
.PHONY: help demo up cluster chaos test endurance soak contract lint types wheel bench clean

# Airflow's start would compile thousands of files anew, or import another project's modules.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME

VENV = .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
ARGS =
# Those that wait much come first, and the many short ones fill the gaps.
PYTEST_ARGS = -n 3 --dist loadfile --no-loadscope-reorder

help:
	@echo 'make demo   deploy an example site with a real Airflow and simulated machines'
	@echo 'make up     run Slipway in the foreground until Ctrl-C'
	@echo 'make cluster  run Slipway as in production on this one machine: deploy/ on seven hosts, until Ctrl-C'
	@echo 'make chaos  kill, freeze and cut off parts of such a cluster within actions: a hundred times, or CHAOS_FAULTS=N CHAOS_SEED=N'
	@echo 'make lint   code, and the names and sentences of documents'
	@echo 'make test   linters, type checker, tests'
	@echo 'make endurance  longer tests: a whole Airflow, a real Ironic, kills of processes, whole runs, hostile designs, the wheel'
	@echo 'make soak       the whole of the longest counts, such as 100,000 random changes, one test after the other: hours'
	@echo 'make contract URL=http://HOST:9000 [DESIGNS=http://ME:8099]  what Slipway expects of a Drydock, tried on yours'
	@echo 'make contract URL=http://HOST:5240/MAAS POOL=p [TAG=t]  the same of a MAAS, whose API key is CONTRACT_KEY in the environment'
	@echo 'make wheel  build dist/slipway-….whl, to install in an Airflow of your own'
	@echo 'make bench  measure strategy_lib, actions, status trees, commits, secrets, groups side by side, and what Airflow adds'
	@echo 'make clean  remove .venv, .slipway and caches'

demo: $(READY)
	@exec $(BIN)/slipway demo $(ARGS)

up: $(READY)
	@exec $(BIN)/slipway up $(ARGS)

cluster: $(READY)
	@exec $(BIN)/python -m tests.support.cluster $(ARGS)

chaos: $(READY)
	$(BIN)/pytest -s -m soak tests/e2e/test_chaos.py $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -q tests/lint

types: $(READY)
	$(BIN)/mypy

# The type checker works beside the tests; what it says comes after theirs.
test: lint
	@said=$$(mktemp); $(BIN)/mypy >"$$said" 2>&1 & mypy=$$!; \
	trap 'kill $$mypy 2>/dev/null || :; rm -f "$$said"' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	status=0; \
	echo "$(BIN)/pytest $(PYTEST_ARGS) -m 'not endurance and not soak' $(ARGS)"; \
	$(BIN)/pytest $(PYTEST_ARGS) -m 'not endurance and not soak' $(ARGS) || status=$$?; \
	echo '$(BIN)/mypy'; \
	wait $$mypy || status=$$?; \
	cat "$$said"; \
	exit $$status

endurance: $(READY)
	$(BIN)/pytest $(PYTEST_ARGS) -m endurance $(ARGS)

# One after the other: some judge seconds, and cores that others keep busy prove nothing.
soak: $(READY)
	$(BIN)/pytest --timeout=0 -s -m soak $(ARGS)

# Against the simulator without URL. What it does to the machines of that server, and its other settings: tests/contract/in_use.py.
contract: $(READY)
	CONTRACT_URL='$(URL)' CONTRACT_DESIGNS='$(DESIGNS)' CONTRACT_POOL='$(POOL)' CONTRACT_TAG='$(TAG)' \
	$(BIN)/pytest --timeout=0 tests/contract $(ARGS)

wheel: $(READY)
	@rm -rf build dist/slipway-*.whl
	@umask 022; export SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)}; \
	$(BIN)/uv build --quiet --wheel --offline --no-build-isolation --python $(BIN)/python --out-dir dist .
	@rm -rf build *.egg-info

bench: $(READY)
	$(BIN)/python -m tests.bench.bench_simulate
	$(BIN)/python -m tests.bench.bench_goals
	$(BIN)/python -m tests.bench.bench_actions
	$(BIN)/python -m tests.bench.bench_commit
	$(BIN)/python -m tests.bench.bench_status
	$(BIN)/python -m tests.bench.bench_viewers
	$(BIN)/python -m tests.bench.bench_secrets
	$(BIN)/python -m tests.bench.bench_airflow
	$(BIN)/python -m tests.bench.bench_updates
	$(BIN)/python -m tests.bench.bench_node_states
	$(BIN)/python -m tests.bench.bench_node_agents
	$(BIN)/python -m tests.bench.bench_parallel
	$(BIN)/python -m tests.bench.bench_parallel_airflow
	$(BIN)/python -m tests.bench.bench_requests

clean:
	rm -rf $(VENV) .slipway .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Not compiled at the installation, which would take as long again: tests, and packages that only the tests use.
UNCOMPILED = /(tests?|testing|example_dags|lexers|mypyc?|schemathesis|playwright|hypothesis|_pytest|graphql|google|grpc|dns|werkzeug|setuptools)/
PIP_INSTALL = install -qq --disable-pip-version-check --require-hashes

# Installs exactly what requirements.lock names, by hash. uv (itself in the lock) does it in seconds; where it cannot, because
# only pip's own configuration knows the package index, pip does it in minutes. The lock is made for Python 3.11 and no other.
$(READY): requirements.lock setup.cfg setup.py pyproject.toml
	@python= ; \
	for candidate in $(if $(SLIPWAY_PYTHON),'$(SLIPWAY_PYTHON)',python3.11 python3); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then \
	    python=$$candidate; break; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "make: $(if $(SLIPWAY_PYTHON),SLIPWAY_PYTHON=$(SLIPWAY_PYTHON) is not Python 3.11,Python 3.11 was not found);" \
	    'requirements.lock is for 3.11 only. Install it, or name it: make SLIPWAY_PYTHON=/path/to/python3.11' >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "make: $$python has no venv; install it (on Debian: apt-get install python3-venv)" >&2; exit 1; \
	fi; \
	if ! $(BIN)/uv --version >/dev/null 2>&1; then \
	  echo "creating $(VENV) with $$python"; \
	  "$$python" -m venv --clear --without-pip $(VENV); \
	  awk '/^[^ #]/ { wanted = /^uv==/ } wanted' requirements.lock > $(VENV)/uv.txt; \
	  "$$python" -m pip --python $(BIN)/python $(PIP_INSTALL) -r $(VENV)/uv.txt 2>/dev/null || { \
	    $(BIN)/python -m ensurepip >/dev/null; \
	    $(BIN)/python -m pip $(PIP_INSTALL) -r $(VENV)/uv.txt; \
	  }; \
	fi
	@echo 'installing requirements.lock'
	@if ! $(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock; then \
	  echo 'uv could not; installing with pip, which takes minutes'; \
	  $(BIN)/python -m ensurepip >/dev/null; \
	  $(BIN)/python -m pip $(PIP_INSTALL) -r requirements.lock; \
	fi
	@rm -rf *.egg-info
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --offline --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 -x '$(UNCOMPILED)' $(VENV)/lib/python3.11/site-packages || true
	@touch $(READY)
