# What to run here. `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check
MAKEFLAGS += --no-print-directory

BIN := $(CURDIR)/.cache/bin
LINT := $(BIN)/golangci-lint-v2.15.0
S3_SERVER := $(BIN)/versitygw-v1.8.0

FUZZTIME ?= 30s

.PHONY: check vet lint unit test demo fuzz bench build help

# No test reaches an account by accident.
unit test fuzz: export AWS_ACCESS_KEY_ID := test
unit test fuzz: export AWS_SECRET_ACCESS_KEY := test
unit test fuzz: export AWS_REGION := us-east-1
unit test fuzz: export AWS_EC2_METADATA_DISABLED := true

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
test: ## every test that needs no AWS account; starts and stops the local endpoint
	@SPATE_TEST_AWS=required localstack/endpoint run bash -uc 'ok=true; \
	  go test -race -timeout 15m $$(go list ./... | grep -v /tests/) || ok=false; \
	  go test -timeout 15m $$(grep -rl "^//go:build !race" --include="*_test.go" ./pkg | xargs -n1 dirname | sort -u) || ok=false; \
	  go test -count=1 -timeout 15m ./tests/... || ok=false; \
	  (cd examples/custom && go vet ./... && go test ./...) || ok=false; $$ok'

demo: build ## the example job in one process: what it delivers and its report
	@mkdir -p .cache
	OUT=.cache/demo.ndjson bin/spate run --overwrite examples/access-logs/pipeline.yaml
	@echo; echo "the first of $$(wc -l <.cache/demo.ndjson) rows in .cache/demo.ndjson:"
	@head -n 3 .cache/demo.ndjson

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

build: ## bin/spate for this machine
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/spate ./cmd/spate

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' Makefile

$(LINT):
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(S3_SERVER):
	@$(call install,github.com/versity/versitygw/cmd/versitygw)

# install builds a tool at the version in its file's name, so that another
# version is another file.
install = GOFLAGS= GOBIN=$(BIN) go install $(1)@v$(lastword $(subst -v, ,$(@F))) && mv $(BIN)/$(notdir $(1)) $@
