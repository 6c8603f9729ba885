package spatetest_test

import (
	"context"
	"fmt"

	"github.com/spate-go/spate/pkg/chain"
	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/object/memobject"
	"github.com/spate-go/spate/pkg/sink/capturesink"
	"github.com/spate-go/spate/pkg/spatetest"
)

// reading is a record of a sensor.
type reading struct {
	Sensor  string  `json:"sensor"`
	Celsius float64 `json:"celsius"`
}

// warm is the chain under test: readings above 30 degrees, as text.
func warm() chain.Constructor {
	readings := chain.Decode(func() decode.Decoder[reading] { return jsondecode.Typed[reading](jsondecode.Options{}) }, chain.Skip)
	high := chain.Filter(readings, func(_ *chain.Context, r *reading) (bool, error) { return r.Celsius > 30, nil })
	return chain.Encode(high, chain.Skip, func(dst []byte, r *reading) ([]byte, error) {
		return fmt.Appendf(dst, "%s %.1f\n", r.Sensor, r.Celsius), nil
	})
}

// A chain needs no job to be tested: records in, rows out, and what became of
// each.
func ExampleChain() {
	t := new(exampleT) // in a test, the test's own
	defer t.end()

	got := spatetest.Chain(t, warm(),
		`{"sensor":"roof","celsius":41.25}`,
		`{"sensor":"cellar","celsius":12}`,
		`{"sensor":`,
	)
	fmt.Print(got.Text())
	fmt.Println("filtered:", got.Counts.Filtered, "rejected:", got.Counts.Rejected)
	// Output:
	// roof 41.2
	// filtered: 1 rejected: 1
}

// A sink that fails once is written to again, and no row is there twice: the
// framework retries, and tokens tell it what was written.
func ExampleStart() {
	t := new(exampleT) // in a test, the test's own
	defer t.end()

	rows := spatetest.Capture(t, capturesink.Options{Script: capturesink.Once(0, capturesink.Retryable)})
	source := spatetest.Start(t, spatetest.Job{Chain: warm(), Sink: rows})
	_ = source.Push("2026-07-01.ndjson", []byte(`{"sensor":"roof","celsius":35}`+"\n"))
	_ = source.Push("2026-07-02.ndjson", []byte(`{"sensor":"roof","celsius":36}`+"\n"))
	if err := source.Wait(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(rows.Counts())
	// Output: map[roof 35.0:1 roof 36.0:1]
}

// What cannot be read is named, and the rest is delivered.
func ExampleSource_Wait() {
	t := new(exampleT) // in a test, the test's own
	defer t.end()

	source := spatetest.Start(t, spatetest.Job{Chain: warm()})
	_ = source.Push("good.ndjson", []byte(`{"sensor":"roof","celsius":35}`+"\n"))
	_ = source.Push("broken.gz", []byte("\x1f\x8b\x08\x00 cut off"))
	err := source.Wait(context.Background())
	fmt.Println(err != nil)

	report, _ := source.End(context.Background())
	fmt.Println(report.State, report.Dead[0].Objects[0].Key, report.Dead[0].Reason)
	// Output:
	// true
	// failed broken.gz undecodable
}

// Every read is failed in turn, once each: whichever it is, no row is lost.
func ExampleFaults() {
	for at := 1; ; at++ {
		t := new(exampleT) // in a test, the test's own
		faults := &spatetest.Faults{Op: spatetest.OpReadRange, At: at}
		bucket := new(memobject.Bucket)
		rows := spatetest.Capture(t, capturesink.Options{})
		source := spatetest.Start(t, spatetest.Job{Bucket: bucket, Sink: rows, Faults: faults})
		_ = source.Push("a", []byte("1\n"))
		_ = source.Push("b", []byte("2\n"))
		_ = source.Wait(context.Background())
		t.end()
		if faults.Seen() < at {
			break
		}
		fmt.Println("read", at, "failed once:", len(rows.Rows()), "rows")
	}
	// Output:
	// read 1 failed once: 2 rows
	// read 2 failed once: 2 rows
}

// A delivery that comes twice leads to no row twice.
func ExampleFates() {
	t := new(exampleT) // in a test, the test's own
	defer t.end()

	rows := spatetest.Capture(t, capturesink.Options{})
	source := spatetest.Start(t, spatetest.Job{Sink: rows, Feed: spatetest.Fates(spatetest.Unacked, spatetest.Twice)})
	_ = source.Push("a", []byte("1\n"))
	_ = source.Wait(context.Background())
	fmt.Println(rows.Rows())
	// Output: [1]
}
