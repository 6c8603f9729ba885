# What to run here. `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/.cache/bin
LINT := $(BIN)/golangci-lint-v2.15.0
S3_SERVER := $(BIN)/versitygw-v1.8.0

# endpoint runs a command with an endpoint: the given one, or one that it starts.
endpoint = $(if $(AWS_ENDPOINT_URL),,localstack/endpoint run)
# engine likewise with a ClickHouse engine.
engine = $(if $(CLICKHOUSE_URL),,examples/clickhouse/engine run)

FUZZTIME ?= 30s

# The functions: what they run, and on which processor. SAM asks for each by the
# name that it has in template.yaml.
PIPELINE ?= examples/pipeline.yaml
ARCHITECTURE ?= arm64
GOARCH_arm64 := arm64
GOARCH_x86_64 := amd64
FUNCTIONS := lister intake reader finalizer
SAM_FUNCTIONS := build-ListerFunction build-IntakeFunction build-ReaderFunction build-FinalizerFunction

.PHONY: check vet lint unit test demo demo-aws demo-clickhouse test-aws test-clickhouse fuzz bench build build-functions $(SAM_FUNCTIONS) validate deploy help

# No test reaches an account by accident.
unit test test-aws test-clickhouse demo-aws fuzz validate: export AWS_ACCESS_KEY_ID := test
unit test test-aws test-clickhouse demo-aws fuzz validate: export AWS_SECRET_ACCESS_KEY := test
unit test test-aws test-clickhouse demo-aws fuzz validate: export AWS_REGION := us-east-1
unit test test-aws test-clickhouse demo-aws fuzz validate: export AWS_EC2_METADATA_DISABLED := true

check: vet lint unit ## vet, lint and unit tests: the default, without network once the linter is built

vet: ## go vet
	go vet ./...

lint: $(LINT) ## golangci-lint, built from source at its pinned version
	$(LINT) run

unit: ## tests that need neither an endpoint nor a built binary
	go test ./pkg/... ./cmd/...

# The race detector distorts what tests of memory and allocations see: packages
# with such tests, which say so by their build tag, run once more without it.
# tests/ checks what it does not import (it builds the binary with the detector),
# so a cached result there says
# nothing: -count=1.
test: ## every test that needs no AWS account; the local endpoint and a ClickHouse engine included
	@SPATE_TEST_AWS=required SPATE_TEST_CLICKHOUSE=required $(endpoint) $(engine) bash -uc 'ok=true; \
	  go test -race -timeout 15m $$(go list ./... | grep -v /tests/) || ok=false; \
	  go test -timeout 15m $$(grep -rl "^//go:build !race" --include="*_test.go" ./pkg | xargs -n1 dirname | sort -u) || ok=false; \
	  go test -count=1 -timeout 15m ./tests/... || ok=false; \
	  (cd examples/custom && go vet ./... && go test ./...) || ok=false; $$ok'

demo: build ## the example job in one process: what it delivers and its report
	@mkdir -p .cache
	OUT=.cache/demo.ndjson bin/spate run --overwrite examples/access-logs/pipeline.yaml
	@echo; echo "the first of $$(wc -l <.cache/demo.ndjson) rows in .cache/demo.ndjson:"
	@head -n 3 .cache/demo.ndjson

demo-aws: build ## the example job as functions, on the local endpoint or that of AWS_ENDPOINT_URL
	@$(endpoint) localstack/demo

test-aws: ## the deployed stack's tests alone, on the local endpoint or that of AWS_ENDPOINT_URL
	@SPATE_TEST_AWS=required $(endpoint) go test -count=1 -timeout 30m ./tests/aws/...

test-clickhouse: ## the tests that load a ClickHouse engine alone, a local one or that of CLICKHOUSE_URL
	@SPATE_TEST_CLICKHOUSE=required $(engine) go test -count=1 -timeout 15m ./tests/clickhouse

demo-clickhouse: build ## the example job that loads a ClickHouse engine, twice: what it then holds
	@examples/clickhouse/run

fuzz: ## each fuzz target for FUZZTIME (30s)
	@grep -roE --include='*_test.go' '^func Fuzz\w+' . | while IFS=: read -r file func; do \
	  go test -run='^$$' -fuzz="^$${func#func }\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=1s "$$(dirname "$$file")" </dev/null; \
	done

# BASELINE='other --from {endpoint}/bench/{case}/' measures another command in turn.
bench: build $(S3_SERVER) ## whole jobs against an S3 server here: CASES= MODES= RUNS= SCALE= ENDPOINT= BASELINE=
	@go build -o $(BIN)/bench ./tests/bench
	@$(BIN)/bench -server $(S3_SERVER) \
	  $(if $(CASES),-cases '$(CASES)') $(if $(MODES),-modes '$(MODES)') $(if $(RUNS),-runs $(RUNS)) \
	  $(if $(SCALE),-scale $(SCALE)) $(if $(ENDPOINT),-endpoint '$(ENDPOINT)') $(if $(BASELINE),-baseline "$$BASELINE")

# With PIPELINE= it also builds the functions that run it.
build: $(if $(filter command environment,$(firstword $(origin PIPELINE))),build-functions) ## bin/spate for this machine
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/spate ./cmd/spate

# A function's directory holds what the function gets: its binary and the pipeline.
FUNCTION_DIRS := $(FUNCTIONS:%=bin/$(ARCHITECTURE)/%)
build-functions: $(FUNCTION_DIRS:=.zip) ## what Lambda runs, bin/ARCHITECTURE/NAME.zip: PIPELINE= ARCHITECTURE=
	@wc -c $^ | awk '$$2 != "total" {printf "%5.1f MB  %s\n", $$1 / 1e6, $$2; if ($$1 > 15e6) big = 1} END {exit big}' || \
	  { echo "a function is over 15 MB" >&2; exit 1; }

.PHONY: $(FUNCTION_DIRS) $(FUNCTION_DIRS:=.zip)
$(FUNCTION_DIRS:=.zip): %.zip: %
	@rm -f $@ && python3 -m zipfile -c $@ $</bootstrap $</pipeline.yaml

# lambda.norpc leaves out the protocol of a runtime that is no more.
$(FUNCTION_DIRS):
	@mkdir -p $@
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(or $(GOARCH_$(ARCHITECTURE)),$(error ARCHITECTURE is arm64 or x86_64)) \
	  go build -trimpath -tags lambda.norpc -ldflags '-s -w' -o $@/bootstrap ./functions/$(@F)
	@cp $(PIPELINE) $@/pipeline.yaml

# SAM runs these, and says in ARTIFACTS_DIR where it wants them.
build-ListerFunction: bin/$(ARCHITECTURE)/lister
build-IntakeFunction: bin/$(ARCHITECTURE)/intake
build-ReaderFunction: bin/$(ARCHITECTURE)/reader
build-FinalizerFunction: bin/$(ARCHITECTURE)/finalizer
$(SAM_FUNCTIONS):
	@cp $</* $(ARTIFACTS_DIR)

validate: ## template.yaml: sam, cfn-lint, and the rules of its own
	localstack/tool sam validate --lint
	localstack/tool cfn-lint template.yaml
	go test -count=1 ./tests/template

# CONFIG is a table of samconfig.toml. What PARAMETERS= says comes on top of it:
# sam alone would take one or the other.
CONFIG ?= dev
configured = import sys, tomllib; \
  p = tomllib.load(open("samconfig.toml", "rb"))[sys.argv[1]]["deploy"]["parameters"].get("parameter_overrides", ""); \
  print(p if isinstance(p, str) else " ".join(p))
deploy: ## the stack of CONFIG= (dev), built and deployed: PARAMETERS='SourceBucket=…' PIPELINE= ARCHITECTURE=
	localstack/tool sam build --config-env $(CONFIG) --parameter-overrides Architecture=$(ARCHITECTURE)
	localstack/tool sam deploy --config-env $(CONFIG) --parameter-overrides \
	  "$$(localstack/tool python -c '$(configured)' $(CONFIG)) $(PARAMETERS) Architecture=$(ARCHITECTURE)"

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' Makefile

$(LINT):
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(S3_SERVER):
	@$(call install,github.com/versity/versitygw/cmd/versitygw)

# install builds a tool at the version in its file's name, so that another
# version is another file.
install = GOFLAGS= GOBIN=$(BIN) go install $(1)@v$(lastword $(subst -v, ,$(@F))) && mv $(BIN)/$(notdir $(1)) $@
