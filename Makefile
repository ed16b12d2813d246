# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Names for the scripts that do the work; each can be run by hand, and says in its head which variables it knows.
# Variables given on the command line (DEBUG=fastdebug, BUILD=stock, PLAN=Immix, ...) reach the scripts as environment variables.

MAKEFLAGS += --no-print-directory
.PHONY: help jdk plugins plugin lusearch dacapo venv malloc sweep check test jtreg clean
.DEFAULT_GOAL := help
# Plugins and tests need the JDK, and each step keeps all processors busy.
.NOTPARALLEL:

help: ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

jdk: ## build build/jdk; DEBUG=fastdebug: build/jdk-fastdebug; OPENJDK_SRC=DIR, OPENJDK_VERSION=17.0.N, JOBS=N
	@scripts/building/jdk.sh

plugins: ## build the plugins of mmtk/builds.toml that are not marked on_demand into build/jdk/lib/mmtk
	@scripts/building/plugin.sh --all

plugin: ## build one, marked or not: BUILD=stock
	@scripts/building/plugin.sh "$(BUILD)"

lusearch: ## build build/lusearch.jar
	@scripts/building/lusearch.sh

dacapo: ## download DaCapo 9.12-bach-MR1 and 23.11-chopin (GBs); prints the variables that point shardsweep at them
	@scripts/building/dacapo.sh

venv: ## build build/venv, in which shardsweep is: it measures and makes reports
	@scripts/experiments/venv.sh

malloc: ## build build/libshardsweep_malloc.so, the allocator as a malloc to preload
	@scripts/building/malloc.sh

sweep: ## build what is missing, measure, and report: PRESET=quick|full|minheap|time|defaults|small-heaps|memory|plans|programs|latency|pauses|chopin|chopin-minheap, SUITE=dacapobach|dacapochopin
	@scripts/experiments/sweep.sh

check: ## what every change has to pass: a quick part of `make test`
	@scripts/testing/test.sh --quick

test: ## all that has to pass; what is missing on the machine is installed
	@scripts/testing/test.sh

jtreg: ## OpenJDK's tests and ours: TESTS=full|ci|jdk|path, PLAN=Immix, PLUGIN=stock, DEBUG=fastdebug
	@scripts/testing/jtreg.sh

clean: ## remove build/, with the folders of sweeps in it (downloads and finished JVMs stay in the cache)
	rm -rf build benchmarks/*/target scripts/testing/jcstress/target
