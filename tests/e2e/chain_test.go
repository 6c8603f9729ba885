package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/report"
)

// example is one of docs/CHAINS.md: input, steps and what comes out.
type example struct {
	name, input, steps string
	outputs            map[string]string // by file
}

// examples reads the page. A section without input is prose.
func examples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile("../../docs/CHAINS.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	fence := regexp.MustCompile("(?sm)^```(\\S+)(?: (\\S+))?\n(.*?)^```$")
	for _, section := range regexp.MustCompile(`(?m)^#{2,3} `).Split(string(text), -1)[1:] {
		name, body, _ := strings.Cut(section, "\n")
		e := example{name: name, outputs: map[string]string{}}
		for _, m := range fence.FindAllStringSubmatch(body, -1) {
			switch lang, file, code := m[1], m[2], m[3]; {
			case lang == "yaml":
				e.steps = code
			case e.steps == "" && e.input == "":
				e.input = code
			case file != "":
				e.outputs[file] = code
			default:
				e.outputs["out.ndjson"] = code
			}
		}
		if strings.HasPrefix(section, "#") || e.input == "" && e.steps == "" {
			continue
		}
		if e.input == "" || e.steps == "" || len(e.outputs) == 0 {
			t.Errorf("example %q: input, steps or output is missing", name)
		}
		all = append(all, e)
	}
	return all
}

// run runs an example in a directory of its own.
func (e *example) run(t *testing.T) result {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src", "input.ndjson"), []byte(e.input))
	file := "pipeline: {name: example}\nsource: {s3: {url: \"file://" + dir + "/src\"}}\nfeed: {memory: {}}\n" +
		"decode: {json: {on_error: skip}}\n" + regexp.MustCompile(`\{file: \{path: (.*?)\}`).ReplaceAllString(e.steps, fmt.Sprintf(`{file: {path: %q}`, dir+"/$1"))
	if !strings.Contains(e.steps, "sinks:") {
		file += fmt.Sprintf("sink: {file: {path: %q}}\n", dir+"/out.ndjson")
	}
	path := filepath.Join(dir, "pipeline.yaml")
	write(t, path, []byte(file))
	res := run{Binary: plainBinary}.spate(t, "run", path)
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	for _, name := range slices.Sorted(maps.Keys(e.outputs)) {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != e.outputs[name] {
			t.Errorf("%s %v\n got %swant %s", name, err, got, e.outputs[name])
		}
	}
	return res
}

func TestEveryExampleOfThePageOnChainsDoesWhatItSays(t *testing.T) {
	all := examples(t)
	if len(all) < 20 {
		t.Errorf("only %d examples were found", len(all))
	}
	seen := map[string]bool{}
	for _, e := range all {
		for step := range strings.FieldsSeq(e.steps) {
			seen[step] = true
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := e.run(t).Report.Records
			if c.In+c.Expanded != c.Out+c.Filtered+c.Rejected || c.In != int64(strings.Count(e.input, "\n")) {
				t.Errorf("counts %+v", c)
			}
		})
	}
	for _, step := range []string{"filter:", "select:", "rename:", "drop:", "set:", "flatten:", "explode:", "parse:", "route:", "merge:", "unmatched:"} {
		if !seen[step] {
			t.Errorf("no example has %s", step)
		}
	}
}

func TestAChainOfAllStepsRoutesToTwoFiles(t *testing.T) {
	var in, errs, rest strings.Builder
	for i := range 10_000 {
		status := 200 + i%400
		fmt.Fprintf(&in, `{"ts":%d,"id":9%d1234567890123456789,"http":{"status":%d,"agent":"x"},"msg":"user=u%d ok","items":[1.10,{"a":%d}],"pw":"p"}`+"\n", i, i, status, i%7, i)
		if i%10 == 9 {
			continue
		}
		for _, item := range []string{"1.10", fmt.Sprintf(`{"a":%d}`, i)} {
			out := &rest
			if status >= 500 {
				out = &errs
			}
			fmt.Fprintf(out, `{"time":"1970-01-01T%02d:%02d:%02dZ","id":9%d1234567890123456789,"status":%d,"user":"u%d","item":%s,"double":%d}`+"\n", i/3600, i/60%60, i%60, i, status, i%7, item, 2*status)
		}
	}
	in.WriteString("{broken\n{\"id\":1,\"items\":5}\n")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src", "a"), []byte(in.String()))
	path := filepath.Join(dir, "p.yaml")
	write(t, path, []byte(`pipeline: {name: all}
source: {s3: {url: "file://`+dir+`/src", target: 1MiB}}
feed: {memory: {}}
decode: {json: {}}
chain:
  - filter: "ts == nil or ts % 10 != 9"
  - drop: [pw, http.agent]
  - parse: {field: ts, as: timestamp, layout: unix, into: ts}
  - rename: {ts: time, items: item}
  - parse: {field: msg, as: key_value}
  - flatten: {separator: _, fields: [http]}
  - set: {double: http_status * 2}
  - explode: item
  - select: [time, id, "status: http_status", user, item, double]
  - route: [{to: errors, when: "status >= 500"}, {to: rest}]
sinks:
  rest: {file: {path: `+dir+`/rest}}
  errors: {file: {path: `+dir+`/errors}}
`))
	res := run{}.spate(t, "run", path)
	if res.Code != 0 {
		t.Fatalf("code %d\n%s", res.Code, res.Stderr)
	}
	exactly(t, filepath.Join(dir, "errors"), []byte(errs.String()))
	exactly(t, filepath.Join(dir, "rest"), []byte(rest.String()))
	want := report.Records{In: 10_002, Out: 18_000, Filtered: 1_000, Rejected: 2, Expanded: 9_000}
	if res.Report.Records != want {
		t.Errorf("got %+v, want %+v", res.Report.Records, want)
	}
	e, r := res.Report.Sinks["errors"], res.Report.Sinks["rest"]
	if len(res.Report.Sinks) != 2 || e.Bytes != int64(errs.Len()) || r.Bytes != int64(rest.Len()) || e.Records+r.Records != want.Out {
		t.Errorf("sinks %+v", res.Report.Sinks)
	}
	for _, name := range []string{"errors", "rest"} {
		if !strings.Contains(res.Stdout, "sink      "+name+": ") {
			t.Errorf("the report does not name %s:\n%s", name, res.Stdout)
		}
	}
}

// An object's key and a record's offset name the record, also where the object is
// cut: in each range indices begin anew.
func TestAKeyAndAnOffsetNameARecord(t *testing.T) {
	dir := t.TempDir()
	src := map[string][]byte{"cut.ndjson": records("cut", 80_000), "small.ndjson": records("small", 10)}
	for name, data := range src {
		write(t, filepath.Join(dir, "src", name), data)
	}
	out := filepath.Join(dir, "out")
	path := pipeline(t, filepath.Join(dir, "src"), out, "decode: {json: {}}\nchain: [{select: [n, 'key: object.key', record.offset, record.index]}]")
	res := run{}.spate(t, "run", path, "--set", "source.s3.target=1MiB")
	if res.Code != 0 || res.Report.Units.Done < 3 {
		t.Fatalf("code %d, units %+v\n%s", res.Code, res.Report.Units, res.Stderr)
	}
	seen, anew := map[string]bool{}, 0
	for line := range rows(t, out) {
		var row struct {
			N, Offset, Index int
			Key              string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprint(row.Key, row.Offset)
		want := fmt.Sprintf(`{"name":%q,"n":%d,`, strings.TrimSuffix(row.Key, ".ndjson"), row.N)
		if seen[at] || !bytes.HasPrefix(src[row.Key][row.Offset:], []byte(want)) {
			t.Fatalf("%s is not at its place, or stands twice", line)
		}
		if seen[at] = true; row.N != row.Index {
			anew++
		}
	}
	if len(seen) != 80_010 || anew == 0 {
		t.Errorf("%d places, %d records behind the first range", len(seen), anew)
	}
}
