package frame_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/frame/frametest"
)

// autoHarness takes the shape for granted: TestDetect is about that.
func autoHarness() frametest.Harness {
	return frametest.Harness{
		New: func(limit int) frame.Framer { return frame.Auto(limit) },
		Reference: func(input []byte, limit int) frametest.Outcome {
			switch frame.Detect(input) {
			case frame.InArray:
				return jsonReference(false)(input, limit)
			case frame.InRecords:
				return jsonReference(false, "Records")(input, limit)
			case frame.ByValue:
				return jsonReference(true)(input, limit)
			}
			return lineReference(true)(input, limit)
		},
		Inputs: slices.Concat(jsonInputs, lineInputs, containerInputs),
		Tokens: append(slices.Clone(jsonTokens), "{\"a\":1}\n", "text\n"),
	}
}

func TestAutoKeepsTheLawsOfFramers(t *testing.T) { frametest.Run(t, autoHarness()) }

func FuzzAuto(f *testing.F) {
	for _, in := range autoHarness().Inputs {
		f.Add([]byte(in), uint8(9), uint64(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint8, seed uint64) {
		if len(input) > 1<<10 {
			t.Skip("every cut of it would be tried")
		}
		frametest.Check(t, autoHarness(), input, 1+int(limit), seed)
	})
}

var detected = []struct {
	name  string
	head  string
	want  frame.Shape
	lines bool // LineByLine
}{
	{"an array", `[{"a":1},{"a":2}]`, frame.InArray, false},
	{"an array behind a byte order mark and white space", "\ufeff \n\t[{\"a\":1}]", frame.InArray, false},
	{"an array over lines", "[\n{\"a\":1},\n{\"a\":2}\n]\n", frame.InArray, false},
	{"arrays of objects, one a line", "[{\"a\":1}]\n[{\"a\":2}]\n", frame.InArray, false},
	{"an array of other things", `[1,"a",[2]]` + "\n", frame.InArray, false},
	{"an empty array", `[]`, frame.InArray, false},
	{"an array that goes on", `[1,2`, frame.InArray, false},
	{"rows, one a line", "[\"a\",\"b\"]\n[1,2]\n", frame.ByLine, false},
	{"rows, one a line, with CR", "[1,2] \r\n[3]\n", frame.ByLine, false},
	{"text that begins with a bracket", "[error] no such file\n", frame.ByLine, false},
	{"text that begins with a date in brackets", "[2026-11-29 22:34:40] started\n", frame.ByLine, false},
	{"text that begins with a number in brackets", "[4711] started\n", frame.ByLine, false},

	{"objects, one a line", "{\"a\":1}\n{\"a\":2}\n", frame.ByLine, true},
	{"objects, one a line, with CR and blank lines", " {\"a\":1} \t\r\n\r\n \n {\"a\":2}", frame.ByLine, true},
	{"objects of every kind of value", "{\"a\":[1,{\"b\":\"]}\"}],\"c\":null,\"d\":true,\"e\":-1.5,\"f\":\"\\\"\"}\n{}\n", frame.ByLine, true},
	{"one object and its line feed", "{\"a\":1}\n", frame.ByLine, false},
	{"an object and a line of other things", "{\"a\":1}\nx\n", frame.ByLine, false},
	{"empty objects, one a line", "{}\n{}\n", frame.ByLine, true},
	{"a line that is no JSON, then objects", "{\"a\":}\n{\"a\":1}\n{\"a\":2}\n", frame.ByLine, false},
	{"a line that is cut, then objects", "{\"a\":1,\n{\"a\":1}\n", frame.ByLine, false},
	{"a line that is cut in a string", "{\"a\":\"b\n{\"a\":\"c\"}\n", frame.ByLine, false},
	{"text that begins with a brace", "{error} no such file\n", frame.ByLine, false},
	{"an object of a word that is none", "{\"a\":nul}\n{}\n", frame.ByLine, false},

	{"one object", `{"a":1}`, frame.ByValue, false},
	{"objects without anything between", `{"a":1}{"a":2}`, frame.ByValue, false},
	{"objects with a space between", "{\"a\":1} {\"a\":2}\n{\"a\":3}\n", frame.ByValue, false},
	{"an object over lines", "{\n  \"a\": 1\n}\n", frame.ByValue, false},
	{"objects over lines", "{\n\"a\":1}\n{\n\"a\":2}\n", frame.ByValue, false},
	{"an object that goes on", `{"a":"` + strings.Repeat("x", 100), frame.ByValue, false},
	{"an object that goes on behind a key", `{"a"`, frame.ByValue, false},
	{"a brace", `{`, frame.ByValue, false},

	{"a document with Records", `{"Records":[{"a":1}]}`, frame.InRecords, false},
	{"a document with Records and its line feed", "{\"Records\":[{\"a\":1}]}\n", frame.InRecords, false},
	{"documents with Records, one a line", "{\"Records\":[]}\n{\"Records\":[1]}\n", frame.InRecords, false},
	{"a document with Records further on, over lines", "{\n \"a\": {\"Records\":1},\n \"\\u0052ecords\" : [", frame.InRecords, false},
	{"a document with Records further down", "{\"a\":{\"Records\":[1]}}\n{}\n", frame.ByLine, true},
	{"a document with Records that are no array", "{\"Records\":1}\n{\"Records\":2}\n", frame.ByLine, true},
	{"a second document with Records", "{\"a\":1}{\"Records\":[1]}", frame.ByValue, false},

	{"nothing", ``, frame.ByLine, false},
	{"white space", " \r\n\t", frame.ByLine, false},
	{"text", "a,b\n1,2\n", frame.ByLine, false},
	{"numbers", "1\n2\n", frame.ByLine, false},
	{"strings", "\"{\"\n\"[\"\n", frame.ByLine, false},
	{"the codec's bytes", "\x1f\x8b\x08\x00", frame.ByLine, false},
}

func TestDetect(t *testing.T) {
	for _, tt := range detected {
		t.Run(tt.name, func(t *testing.T) {
			head := []byte(tt.head)
			if got := frame.Detect(head); got != tt.want {
				t.Errorf("got shape %d, want %d", got, tt.want)
			}
			if got := frame.LineByLine(head); got != tt.lines {
				t.Errorf("LineByLine is %v", got)
			}
			if string(head) != tt.head {
				t.Errorf("the text became %q", head)
			}
		})
	}
}

// What decides stands in the first 64 KiB, whatever follows.
func TestDetectLooksNoFurther(t *testing.T) {
	record := `{"a":"` + strings.Repeat("x", frame.HeadBytes-10) + `"}` // ends at HeadBytes - 2
	for name, tt := range map[string]struct {
		text  string
		want  frame.Shape
		lines bool
	}{
		"the next record begins in them":  {record + "\n{", frame.ByLine, true},
		"the next record begins too late": {record + " \n{}\n", frame.ByLine, false},
		"the line feed comes too late":    {record + "  \n{}\n", frame.ByValue, false},
		"the record ends too late":        {"   " + record + "\n{}\n", frame.ByValue, false},
		"Records in them":                 {`{"a":"` + strings.Repeat("x", frame.HeadBytes-19) + `","Records":[]}`, frame.InRecords, false},
		"Records too late":                {`{"a":"` + strings.Repeat("x", frame.HeadBytes-18) + `","Records":[]}`, frame.ByValue, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{tt.text, tt.text + strings.Repeat("{}\n", 10)} {
				if got := frame.Detect([]byte(text)); got != tt.want {
					t.Errorf("got shape %d, want %d", got, tt.want)
				}
				if got := frame.LineByLine([]byte(text)); got != tt.lines {
					t.Errorf("LineByLine is %v", got)
				}
			}
		})
	}
}

// Inputs of the suite are short: here the bytes that decide come in pieces.
func TestAutoDecidesAlikeWhateverTheChunks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	long := strings.Repeat("x", frame.HeadBytes-20)
	for name, input := range map[string]string{
		"lines":            strings.Repeat("{\"a\":1}\n", 20_000),
		"a long line":      `{"a":"` + long + "\"}\n{\"b\":1}\n{\"c\":",
		"a longer line":    `{"a":"` + long + long + "\"}\n{\"b\":1}\n",
		"a late fault":     `{"a":"` + long + "\",\"b\":\"12345678901234567890\", \n",
		"a late end":       `{"a":"` + long + `"}` + strings.Repeat(" ", 30) + "{\"b\":1}",
		"late Records":     `{"a":"` + long + `","Records":[{"a":1},{"a":2}]}`,
		"an array":         "[" + strings.Repeat(`{"a":1},`, 20_000) + "1]",
		"much white space": strings.Repeat(" ", frame.HeadBytes-1) + "[1,2]",
		"more white space": strings.Repeat(" ", frame.HeadBytes) + "[1,2]",
	} {
		t.Run(name, func(t *testing.T) {
			f := frame.Auto(1 << 20)
			want, wantErr := all(f, input)
			for range 5 {
				f.Reset(0)
				var got []string
				var err error
				var buf []byte
				for rest := input; err == nil && rest != ""; {
					n := min(1+r.IntN(frame.HeadBytes), len(rest))
					if r.IntN(3) == 0 {
						n = min(1+r.IntN(40), len(rest))
					}
					buf, rest = append(buf, rest[:n]...), rest[n:]
					frames, dealt, e := f.Split(nil, buf, rest == "")
					for _, fr := range frames {
						got = append(got, string(buf[fr.Start:fr.End]))
					}
					buf, err = buf[dealt:], e
				}
				if !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("in pieces %d records, %v; at once %d, %v", len(got), err, len(want), wantErr)
				}
			}
		})
	}
}

func TestAutoWaitsForTheLastByteThatDecides(t *testing.T) {
	f := frame.Auto(100)
	buf := []byte(strings.Repeat(" ", frame.HeadBytes-1) + "[1,2]")
	frames, n, err := f.Split(nil, buf[:frame.HeadBytes-1], false)
	if len(frames) > 0 || n > 0 || err != nil {
		t.Fatalf("%d frames, %d bytes dealt with, %v", len(frames), n, err)
	}
	if frames, _, err = f.Split(nil, buf, true); len(frames) != 2 || err != nil {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

func TestAutoBeginsWithLinesInsideAnObject(t *testing.T) {
	f := frame.Auto(100)
	f.Reset(1 << 20)
	if got, err := all(f, "[{}]\n{\"a\":1}{}\n"); err != nil || strings.Join(got, "|") != `[{}]|{"a":1}{}` {
		t.Errorf("got %q, %v", got, err)
	}
}
