package dynamoledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/awsconfig/awstest"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
	"github.com/spate-go/spate/pkg/ledger/ledgertest"
)

// endpoint is a new table at what AWS_ENDPOINT_URL names, which is left there:
// point it at what is thrown away.
func endpoint(t *testing.T) (*dynamodb.Client, string) {
	t.Helper()
	return endpointOf(t, dynamoledger.Schema)
}

func endpointOf(t *testing.T, schema func(table string) *dynamodb.CreateTableInput) (*dynamodb.Client, string) {
	t.Helper()
	cfg := awstest.Config(t, "DYNAMODB")
	client := dynamodb.NewFromConfig(cfg)
	table := fmt.Sprintf("spate-ledger-%08x", rand.Uint32())
	_, err := client.CreateTable(t.Context(), schema(table))
	if _, there := errors.AsType[*types.ResourceInUseException](err); err != nil && !there { // by an answer that was lost
		t.Fatal(err)
	}
	return client, table
}

// clocked is a ledger with a clock of its own.
type clocked struct {
	*dynamoledger.Ledger
	ahead *atomic.Int64
}

func clockedLedger(client dynamoledger.API, table string) clocked {
	ahead := new(atomic.Int64)
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return clocked{dynamoledger.New(client, table, dynamoledger.Options{Now: now}), ahead}
}

func TestConformanceOnEndpoint(t *testing.T) {
	client, table := endpoint(t)
	conformance(t, func() dynamoledger.API { return client }, table, 1)
}

func TestConformanceInMemory(t *testing.T) {
	conformance(t, func() dynamoledger.API { return newTable() }, "ledger", 40)
}

// TestConformanceInParts has every answer come in pieces, as the service gives
// them of what is large, or when it is throttled.
func TestConformanceInParts(t *testing.T) {
	conformance(t, func() dynamoledger.API {
		t := newTable()
		t.perPage, t.perBatch = 1, 30
		return t
	}, "ledger", 2)
}

// TestConformanceOfRepeats has the SDK repeat every call, since the first answer
// was lost.
func TestConformanceOfRepeats(t *testing.T) {
	conformance(t, func() dynamoledger.API {
		t := newTable()
		t.repeats = true
		return t
	}, "ledger", 10)
}

func conformance(t *testing.T, api func() dynamoledger.API, table string, histories int) {
	h := ledgertest.Harness{
		Lapse:     func(s ledger.Store, d time.Duration) { s.(clocked).ahead.Add(int64(d)) },
		Histories: histories, Steps: 40, Parts: true,
	}
	t.Run("store", func(t *testing.T) {
		ledgertest.Run(t, func(*testing.T) ledger.Store { return clockedLedger(api(), table) }, h)
	})
	t.Run("resumer", func(t *testing.T) {
		ledgertest.RunResumer(t, func(*testing.T) ledgertest.Resumable { return clockedLedger(api(), table) }, h)
	})
	t.Run("shared", func(t *testing.T) {
		ledgertest.RunShared(t, func(*testing.T) ledger.Shared { return clockedLedger(api(), table) }, h)
	})
}
