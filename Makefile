# Every target sets up what it needs; `npm ci` brings the pinned Node, so an old system Node is enough.
SHELL := bash
INSTALLED := node_modules/.installed
# The pinned Node itself, not through npm: a signal that ends make then reaches what is running.
RUN := PATH="$(CURDIR)/node_modules/.bin:$$PATH" exec node

.DEFAULT_GOAL := help

.PHONY: help npm install check test demo demo-endpoint demo-gateway demo-deadman demo-job demo-agent playground simulate verify-all generate docs format build image release-rehearsal bench bench-gateway bench-job clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Install dependencies (done by every other target when needed)

npm:
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer (https://nodejs.org), then run this again." >&2; exit 1; }

$(INSTALLED): package-lock.json tools/node-runtime/package.json | npm
	@test ! -L node_modules || { echo "node_modules is a link, and npm would empty the folder that it leads to: install there, or remove the link." >&2; exit 1; }
	npm ci --no-audit --no-fund --loglevel=error 1>&2 \
		|| { echo "The packages could not be installed. They come from $$(npm config get registry): with a network or another registry, run this again." >&2; exit 1; }
	@touch $@

check: $(INSTALLED) ## Types, lint, import rules, quick unit tests, generated files (50 s of processor time, less than a minute on two cores)
	@$(RUN) scripts/check.ts

test: $(INSTALLED) ## All tests, on a real Kubernetes API that it sets up itself
	@$(RUN) scripts/test.ts

demo: $(INSTALLED) ## The whole job on a real Kubernetes API with a simulated marketplace
	@$(RUN) scripts/demo.ts

demo-endpoint: $(INSTALLED) ## An EndpointGroup whose workers follow a load that rises, bursts and ends
	@$(RUN) scripts/demo-endpoint.ts

demo-gateway: $(INSTALLED) ## A gateway at zero workers: 500 requests wait for a machine, and all are served (DEMO_REQUESTS=50 DEMO_BOOT_SECONDS=5)
	@$(RUN) scripts/demo-gateway.ts

demo-deadman: $(INSTALLED) ## Machines that end themselves after their cluster is erased, and none while the operator is only away
	@$(RUN) scripts/demo-deadman.ts

demo-job: $(INSTALLED) ## Six Jobs whose programs run on rented machines: one fails, one is outbid, evicted, deleted, and the operator is killed
	@$(RUN) scripts/demo-job.ts

demo-agent: $(INSTALLED) ## 10,000 calls of a hostile caller of gpu-rent mcp, under a SpendBudget, while its servers are killed (DEMO_CALLS=1000 DEMO_SEED=7)
	@$(RUN) scripts/demo-agent.ts

playground: $(INSTALLED) ## The operator and a simulated marketplace to try things out on, until Ctrl-C (PLAYGROUND_SECONDS=600)
	@$(RUN) scripts/playground.ts

simulate: $(INSTALLED) ## Seeded schedules of faults (SEEDS=100, CORES=4, SEED=7 to replay one)
	@$(RUN) test/simulation/main.ts

verify-all: $(INSTALLED) ## Everything too long for CI: hours (ONLY=mutants for a part)
	@$(RUN) scripts/verify-all.ts

bench: $(INSTALLED) ## The operator beside peers in Go, Rust and Python (QUICK=1: under five minutes; ONLY, ROUNDS, CONTENDERS)
	@npm run --silent bench

bench-gateway: $(INSTALLED) ## Measure the gateway by itself and beside others (TRACE=1: replay ten minutes of bursts)
	@npm run --silent bench:gateway -- $(if $(TRACE),--trace)

bench-job: $(INSTALLED) ## Memory and processor time of 100 relays (gpu-rent job), and of 100 followers of logs at the operator (RELAYS, SECONDS)
	@npm run --silent bench:job

generate: $(INSTALLED) ## Write CRDs, chart and reference from the zod sources
	@$(RUN) scripts/generate.ts

docs: $(INSTALLED) ## The documentation site in dist/docs; fails if a link leads nowhere (DOCS_BASE=/v0.1/ for a path of its own)
	@npm run --silent docs

format: $(INSTALLED) ## Format and fix what can be fixed
	@npm run --silent format

build: $(INSTALLED) ## The command: dist/gpu-rent.mjs
	@npm run --silent build

image: $(INSTALLED) ## The container image in dist/image.tar, loaded into docker, podman or buildah if one is here
	@$(RUN) scripts/image.ts

release-rehearsal: $(INSTALLED) ## Every step of a release on a local registry, signed with a key of its own, and installed from there
	@$(RUN) scripts/release-rehearsal.ts

clean: ## Remove what the targets made in this folder
	rm -rf node_modules dist coverage reports
