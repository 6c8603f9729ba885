// Package clickhouse_test loads a real ClickHouse engine with the built binary,
// as a user does, and looks at what the engine then holds: every type at its
// edges against values computed by another program, every row once whatever is
// killed, lost, slow or refused on the way.
//
// The engine is that of CLICKHOUSE_URL; examples/clickhouse/engine starts one.
// Without it the tests are skipped, or fail where SPATE_TEST_CLICKHOUSE is
// required. Each test has a database of its own.
package clickhouse_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spate-go/spate/tests/clikit"
)

// Built once: with the race detector for what is about behaviour, without for
// what is about time.
var raceBinary, plainBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spate-clickhouse-")
	if err != nil {
		panic(err)
	}
	code := 1
	if os.Getenv("CLICKHOUSE_URL") != "" { // else nothing will run
		raceBinary, plainBinary, err = clikit.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// engine is a database of the engine's, for one test.
type engine struct {
	url, database string
}

var databases atomic.Int64

func newEngine(t *testing.T) engine {
	t.Helper()
	at := os.Getenv("CLICKHOUSE_URL")
	if at == "" {
		if os.Getenv("SPATE_TEST_CLICKHOUSE") == "required" {
			t.Fatal("no engine: set CLICKHOUSE_URL, as examples/clickhouse/engine run does")
		}
		t.Skip("no engine: set CLICKHOUSE_URL, as examples/clickhouse/engine run does")
	}
	e := engine{at, fmt.Sprintf("spate_%d_%d", os.Getpid(), databases.Add(1))}
	engine{at, "default"}.exec(t, "CREATE DATABASE "+e.database)
	t.Cleanup(func() {
		_, err := engine{at, "default"}.ask(context.Background(), "DROP DATABASE "+e.database)
		if err != nil {
			t.Error(err)
		}
	})
	return e
}

// ask runs a statement and returns its answer.
func (e engine) ask(ctx context.Context, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	at := e.url + "/?" + url.Values{"database": {e.database}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", sql, text)
	}
	return strings.TrimSuffix(string(text), "\n"), err
}

func (e engine) exec(t *testing.T, sql string) string {
	t.Helper()
	out, err := e.ask(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wants checks the answer of a statement, its columns with tabs between.
func (e engine) wants(t *testing.T, sql, want string) {
	t.Helper()
	if got := e.exec(t, sql); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", sql, got, want)
	}
}

// A run is a call of the binary, of the one with the race detector if it names
// none; a result is what came of it.
type (
	run    clikit.Call
	result = clikit.Outcome
)

func (r run) spate(t *testing.T, args ...string) result {
	t.Helper()
	if r.Binary == "" {
		r.Binary = raceBinary
	}
	return clikit.Call(r).Do(t, args...)
}

// completes runs a pipeline file, which has to go well.
func (r run) completes(t *testing.T, file string, args ...string) result {
	t.Helper()
	res := r.spate(t, append([]string{"run", "--progress", "none", file}, args...)...)
	if res.Code != 0 {
		t.Fatalf("exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	return res
}

// pipeline writes a pipeline file that loads the NDJSON in dir into a table
// at the URL; sink is more of its section, and more of the file.
func (e engine) pipeline(t *testing.T, dir, table, sink, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	write(t, path, fmt.Sprintf(`pipeline: {name: load}
source: {s3: {url: "file://%s/", target: 1MiB}}
feed: {memory: {}}
framing: {ndjson: {}}
sink: {clickhouse: {url: %q, database: %s, table: %s%s}}
%s
`, dir, e.url, e.database, table, sink, more))
	return path
}

const decode = "decode: {json: {}}\n"

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// records are n records, numbered over all files: file f has those from f*n.
func records(f, n int) string {
	var b strings.Builder
	for i := f * n; i < (f+1)*n; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"row %d","at":"2026-11-01T00:00:%02d.%03dZ"}`+"\n", i, i, i%60, i%1000)
	}
	return b.String()
}

// table makes a table for records; what follows the columns is the caller's.
func (e engine) table(t *testing.T, name, constraint, engine string) {
	t.Helper()
	e.exec(t, "CREATE TABLE "+name+" (id UInt64, name String, at DateTime64(3, 'UTC')"+constraint+") "+engine)
}

// deduplicating is the engine of a table that recognises repeats.
const deduplicating = "ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000"

// once checks that the table has the rows 0 to n-1, each once and as made.
func (e engine) once(t *testing.T, table string, n int) {
	t.Helper()
	e.wants(t, "SELECT count(), uniqExact(id), sum(id), countIf(name = concat('row ', toString(id)) AND at = addMilliseconds(toDateTime64('2026-11-01 00:00:00', 3, 'UTC'), (id % 60) * 1000 + id % 1000)) FROM "+table,
		fmt.Sprintf("%d\t%[1]d\t%d\t%[1]d", n, n*(n-1)/2))
}
