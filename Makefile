# Every target sets up what it needs, and is quick when that is there already. `make help` lists them.
setup := tools/setup.sh
python := .venv/bin/python
ARGS ?=
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test test-full soak bench bench-peers headroom bench-control bench-builds fuzz lint format wheel gpu-kit gpu-check docs clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\): *## *\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo:  ## train on real photographs, fed by the stock loader and by DRAPPS; ARGS="--data DIR" for your own
	@$(setup) run extension
	@$(python) -m demo $(ARGS)

test:  ## everything CI runs; ARGS="SUITE..." for some of it
	@$(setup) $(if $(ARGS),dev,compile)
	@$(python) tools/test.py $(ARGS)

test-full:  ## the long matrices too; the result is kept in tests/results/
	@$(setup) dev
	@$(python) tools/test.py --full --keep full $(ARGS)

soak:  ## kill worker processes at random for 30 minutes; ARGS="--minutes 2 --seed 7"
	@$(setup) dev extension
	@PYTHONPATH=python $(python) tools/soak.py $(ARGS)

bench:  ## measure the loader and its kernels into build/bench/; ARGS="SCENARIO"
	@$(setup) dev extension
	@$(python) -m benchmarks.run $(ARGS)

bench-peers:  ## measure against every rival loader, each in an environment of its own; ARGS="--fresh"
	@$(setup) dev extension
	@$(python) -m benchmarks.run image-peers $(ARGS)

headroom:  ## what there is to gain over the defaults, scenario by scenario; ARGS="SCENARIO --keep"
	@$(setup) dev extension
	@$(python) -m benchmarks.headroom $(ARGS)

bench-control:  ## every policy on simulated machines, against oracles; ARGS="--keep", "--live", "--calibration"
	@$(setup) dev extension
	@$(python) -m benchmarks.control $(ARGS)

bench-builds:  ## measure against the build of another commit; ARGS="COMMIT --only image-kernels"
	@$(setup) dev extension
	@$(python) -m benchmarks.builds $(ARGS)

fuzz:  ## fuzz every target for FUZZ_SECONDS=60; ARGS="--only NAME"
	@$(setup) dev
	@$(python) tools/fuzz.py --seconds $(FUZZ_SECONDS) $(ARGS)

lint:  ## clang-format, clang-tidy, ruff and mypy, without changing anything
	@$(setup) dev extension
	@$(python) tools/lint.py $(ARGS)

format:  ## format all C++ and Python
	@$(setup) dev
	@$(python) tools/lint.py --fix

wheel:  ## wheels for every CPython >= 3.10 here into dist/, each tried in a clean environment
	@$(setup) dev wheel
	@$(python) tools/wheel.py

gpu-kit:  ## what a machine with a GPU, torch and no network needs for gpu-check, into build/gpu-kit/
	@$(setup) dev wheel
	@$(python) -m tools.gpu_kit

gpu-check:  ## check on the GPU of this machine what build/gpu-kit/ holds; ARGS="--results DIR"
	@python3 build/gpu-kit/check.py $(ARGS)

docs:  ## the documentation into build/docs/, its links and its spelling checked
	@$(setup) dev docs extension
	@$(python) -m tools.docs
	@echo "docs: build/docs/index.html"

clean:  ## remove all that was built; .venv and the compiler's cache stay
	rm -rf build dist python/drapps/_core.*
