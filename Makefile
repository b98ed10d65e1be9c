# One command each.  `make chapter2`, `make chapter3` and `make test` set up all that they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RESULTS ?= results
# what `verify` holds the thesis's numbers against: replicates, and what needs none
STUDIES := naive-replicates mixture-replicates hmm-replicates
SINGLE := null naive-simulation colon correlation-lattice mixture-simulation hmm text parameter-reduction \
    cauchy-classification
REPLICATES ?= 200
# 36 processor seconds a data set
CAUCHY_REPLICATES ?= 8

# processes that tests start would compile all modules again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup chapter2 chapter3 thesis verify test tests lint check-sdist coverage test-slow \
    cluster-test bench evidence docs linkcheck wheel conda clean help

help:
	@echo "make chapter2    run the experiments of chapter 2 and say where the pages are"
	@echo "make chapter3    the same for chapter 3"
	@echo "make thesis      both, and verify: all tables and figures of the thesis on one page"
	@echo "make verify      its numbers among $(REPLICATES) replicates (REPLICATES=8: a quick look)"
	@echo "make test        lint, tests, and the sdist: built with checks, installed, its kernels tested"
	@echo "make coverage    the tests, and which lines they do not reach"
	@echo "make test-slow   long statistical studies"
	@echo "make cluster-test  jobs on a one-node Slurm that it starts (root, Debian)"
	@echo "make wheel       a wheel for this Python, audited, installed without a compiler, and used"
	@echo "make conda       the conda recipe, built with stand-ins for the packages of conda-forge"
	@echo "make docs        the pages that are made from the code, and the site build/site/html"
	@echo "make linkcheck   whether what the pages link to elsewhere is there (needs a network)"
	@echo "make evidence    the experiments, tables and figures of docs/evidence.md: hours"
	@echo "make bench       speed and memory, with a figure of how they grow"

# Each of these builds the kernels once; `peers` and `tools` have all that `built` has.
SOURCES := pyproject.toml setup.py constraints.txt $(wildcard cython_ext/* cython_ext/*/*)
INSTALL = $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --upgrade pip && \
    $(BIN)/python -m pip install --quiet -c constraints.txt --editable

$(VENV)/built: $(SOURCES)
	$(INSTALL) .
	@touch $@

$(VENV)/peers: $(SOURCES)
	$(INSTALL) ".[microarray]"
	@touch $(VENV)/built $@

$(VENV)/tools: $(SOURCES)
	$(INSTALL) ".[test,browser,lint,docs,parquet,microarray]"
	@touch $(VENV)/built $(VENV)/peers $@

$(VENV)/release: $(SOURCES)
	$(INSTALL) ".[release]"
	@touch $(VENV)/built $@

setup: $(VENV)/built

chapter2: $(VENV)/peers
	$(BIN)/thesiskit run --results $(RESULTS) chapter2

chapter3: $(VENV)/peers
	$(BIN)/thesiskit run --results $(RESULTS) chapter3

thesis: chapter2 chapter3 verify

verify: $(VENV)/peers
	$(BIN)/thesiskit run --results $(RESULTS) --set replicates=$(REPLICATES) $(STUDIES)
	$(BIN)/thesiskit run --results $(RESULTS) --set replicates=$(CAUCHY_REPLICATES) cauchy-replicates
	$(BIN)/thesiskit run --results $(RESULTS) hmm-reconstructions $(SINGLE)
	$(BIN)/thesiskit verify --results $(RESULTS) --partial $(STUDIES) cauchy-replicates $(SINGLE)

# Whoever of the two processes has no tests left takes some of the other's.
PYTEST := -m pytest -n 2 --dist worksteal
# these run once, on the build with bounds checks, which makes the same numbers (check-sdist)
KERNEL_TESTS := tests/kernels tests/pairs/test_kernel.py tests/models/test_feature_patterns.py tests/models/test_mixing.py \
    tests/models/test_sequence_patterns.py

# While a package is installed or linted one core would wait, and so they run beside each other.
test: $(VENV)/tools
	$(MAKE) --jobs=3 lint tests check-sdist

tests: $(VENV)/tools
	$(BIN)/python $(PYTEST) $(KERNEL_TESTS:%=--ignore=%)

coverage: $(VENV)/tools
	$(BIN)/python $(PYTEST) --cov --cov-report=term

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint cython_ext  # it looks for pycodestyle on the path
	$(BIN)/mypy

# What is shipped is what works: build the sdist, install it in a fresh environment, and run it away
# from the sources.  Its kernels are built with bounds checks: they make the same numbers as the fast
# ones, and the kernel tests run on them, from the sdist.
check-sdist: $(VENV)/tools
	rm -rf build/sdist
	$(BIN)/python -m build --sdist --outdir build/sdist . > /dev/null
	cd build/sdist && tar -xzf *.tar.gz && rm -rf thesiskit-*/thesiskit && mv thesiskit-*/ shipped
	$(PYTHON) -m venv build/sdist/venv
	THESISKIT_CHECKED=1 build/sdist/venv/bin/python -m pip install --quiet -c constraints.txt \
	    "$$(ls build/sdist/*.tar.gz)[parquet]"
	$(BIN)/python tests/support/newcomer.py build/sdist/venv/bin/python
	$(BIN)/python tests/support/kernel_numbers.py > build/sdist/fast.txt
	build/sdist/venv/bin/python tests/support/kernel_numbers.py > build/sdist/checked.txt
	diff build/sdist/fast.txt build/sdist/checked.txt
	cd build/sdist/shipped && THESISKIT_EXPECT_CHECKED=1 \
	    PYTHONPATH=$$(../venv/bin/python -c "import sysconfig; print(sysconfig.get_path('platlib'))") \
	    $(abspath $(BIN))/python $(PYTEST) $(KERNEL_TESTS)

# The wheel that is shipped is made by cibuildwheel (.github/workflows/wheels.yml).  This one is of
# this Python and this system: repaired by auditwheel, installed with no compiler on the path, used
# away from the sources, and its kernels make the same numbers as those of an installation.
wheel: $(VENV)/release
	rm -rf build/wheel build/lib* build/bdist*
	$(BIN)/python -m build --wheel --outdir build/wheel/raw . > /dev/null
	PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir build/wheel build/wheel/raw/*.whl
	PATH="$(abspath $(BIN)):$$PATH" auditwheel show build/wheel/*.whl
	$(PYTHON) -m venv build/wheel/venv
	PATH=build/wheel/venv/bin build/wheel/venv/bin/python -m pip install --quiet \
	    --only-binary :all: -c constraints.txt build/wheel/*.whl
	cd build && wheel/venv/bin/python ../tests/support/wheel_user.py
	$(BIN)/python tests/support/kernel_numbers.py > build/wheel/here.txt
	build/wheel/venv/bin/python tests/support/kernel_numbers.py > build/wheel/wheel.txt
	diff build/wheel/here.txt build/wheel/wheel.txt

# Without access to conda-forge: packages of this environment stand in for its packages.
conda: $(VENV)/release
	$(BIN)/python tests/support/conda_standins.py build/conda

test-slow: $(VENV)/tools
	RESULTS=$(RESULTS) $(BIN)/python $(PYTEST) -m slow

cluster-test: $(VENV)/tools
	tests/slurm_node/run.sh $(BIN)/python -m pytest -m cluster tests/slurm_node

bench: $(VENV)/tools
	$(BIN)/python benchmarks/bench.py --results $(RESULTS)/bench

# Hours: the experiments of docs/evidence.md, and its tables and figures.
evidence: verify
	RESULTS=$(RESULTS) $(BIN)/python $(PYTEST) -m slow tests/slow
	$(BIN)/python benchmarks/evidence.py --run --results $(RESULTS)
	$(BIN)/python benchmarks/pictures.py
	$(BIN)/python benchmarks/evidence.py --guesses

docs: $(VENV)/tools
	$(BIN)/python docs/site/command_reference.py
	$(BIN)/python docs/site/tables.py
	$(BIN)/python docs/site/make_site.py --results $(RESULTS)

linkcheck: $(VENV)/tools
	$(BIN)/python docs/site/make_site.py --small --builder linkcheck

clean:
	rm -rf build $(VENV) *.egg-info thesiskit/_kernels/*.so .coverage
