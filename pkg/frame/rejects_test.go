package frame_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/frame/frametest"
	"github.com/spate-go/spate/pkg/reject"
)

// rejectLine is what a pipeline writes of a record.
func rejectLine(record string) string {
	return string(reject.Append(nil, reject.Line{Key: "k", Bytes: []byte(record)}))
}

func rejectsHarness() frametest.Harness {
	return frametest.Harness{
		New: func(limit int) frame.Framer { return frame.Rejects(limit) },
		Reference: func(input []byte, limit int) (out frametest.Outcome) {
			for _, r := range lineReference(true)(input, 1<<20).Records {
				start, end, ok, err := reject.Content(r)
				if err != nil {
					out.Faulty = true
					break
				}
				if ok && end-start <= limit {
					out.Records = append(out.Records, append([]byte{}, r[start:end]...))
				} else {
					out.Records = append(out.Records, nil)
				}
			}
			for l := range strings.Lines(strings.TrimPrefix(string(input), "\ufeff")) {
				if strings.Trim(l, " \t\r\n") == "" {
					out.Blank++
				} else if _, _, _, err := reject.Content([]byte(strings.TrimRight(l, "\n"))); err != nil {
					break
				}
			}
			return out
		},
		Inputs: []string{
			rejectLine("a"), rejectLine("a\nb\r\n") + rejectLine("\xff\xfe"), rejectLine("") + "\n\r\n" + rejectLine("x"),
			`{"key":"k"}` + "\n" + rejectLine("x"), rejectLine("x") + "{}\n" + "{\n" + rejectLine("y"), "\ufeff" + rejectLine("x"),
			rejectLine(strings.Repeat("\"", 40)), `{"bytes":"\u0041"}`, `{"bytes":"a"}` + "\r\n" + ` {"bytes_base64":"//4="} `, "text\n", "[]\n\n",
		},
		Tokens: []string{
			rejectLine("a"), rejectLine("ab\n"), rejectLine("\xff"), rejectLine(`{"a":"\""}`), rejectLine(strings.Repeat("x", 30)),
			`{"bytes":"`, `"`, `}`, `\n`, `\u00e9`, "\n", "\r\n", " ", `{"key":1}`, "x",
		},
		Resumes: true,
	}
}

func TestRejectsKeepsTheLawsOfFramers(t *testing.T) { frametest.Run(t, rejectsHarness()) }

func FuzzRejects(f *testing.F) {
	for _, in := range rejectsHarness().Inputs {
		f.Add([]byte(in), uint8(3), uint64(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint8, seed uint64) {
		if len(input) > 1<<10 {
			t.Skip("every cut of it would be tried")
		}
		frametest.Check(t, rejectsHarness(), input, 1+int(limit), seed)
	})
}

func TestRejects(t *testing.T) {
	t.Run("records come back byte for byte", func(t *testing.T) {
		want := []string{`{"a":1`, "a\r\nb\x00", "\xff\xfe", ""}
		var file bytes.Buffer
		for _, r := range want {
			file.WriteString(rejectLine(r))
		}
		got, err := all(frame.Rejects(100), file.String())
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a line without a record is one whose bytes are gone", func(t *testing.T) {
		got, err := all(frame.Rejects(100), `{"key":"k","reason":"undecodable"}`+"\n"+rejectLine("a"))
		if err != nil || strings.Join(got, "|") != "<over>|a" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a line that is none of a rejects file is named", func(t *testing.T) {
		got, err := all(frame.Rejects(100), rejectLine("a")+"\n"+`{"bytes":1}`+"\n"+rejectLine("b"))
		if len(got) != 1 || err == nil || err.Error() != "read rejects: line 3: bytes is not a string" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("a record of the limit fits, whatever stands for it", func(t *testing.T) {
		for _, record := range []string{strings.Repeat("\"", 1<<20), strings.Repeat("\x01", 1<<20), strings.Repeat("\xff", 1<<20), strings.Repeat("x", 1<<20)} {
			line := reject.Append(nil, reject.Line{Key: strings.Repeat("\x01", 1024), Detail: strings.Repeat("d", 4096), Bytes: []byte(record)})
			f := frame.Rejects(len(record))
			if got, err := all(f, string(line)); err != nil || len(got) != 1 || got[0] != record {
				t.Errorf("%q: %d records, %v", record[:1], len(got), err)
			}
			if f.Need() < len(line) {
				t.Errorf("%q: the line has %d bytes, Need is %d", record[:1], len(line), f.Need())
			}
		}
	})
}

// As TestLinesSearchesALongRecordOnce.
func TestRejectsSearchesALongLineOnce(t *testing.T) {
	const piece, pieces = 4 << 10, 4 << 10
	long := bytes.Repeat([]byte("x"), piece*pieces)
	f := frame.Rejects(len(long))
	once := fastest(func() { _ = bytes.IndexByte(long, '\n') })
	split := fastest(func() {
		f.Reset(0)
		for n := piece; n <= len(long); n += piece {
			_, _, _ = f.Split(nil, long[:n], false)
		}
	})
	if split > 100*once {
		t.Errorf("in pieces it took %v, one search %v", split, once)
	}
}
