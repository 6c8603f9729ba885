package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/control"
)

func jobSendCommand(s *stackFlags, std stdio) *cobra.Command {
	var (
		keys string
		as   form
	)
	c := &cobra.Command{
		Use:   "send --keys FILE",
		Short: "Send named objects to the stack's continuous job",
		Long: `Send announces objects as a notification would: each version that is new to the job
goes into a unit, and known ones are left alone. Each line of FILE, or of standard
input for -, is a whole key of the source, or a JSON object {"key", "size", "etag",
"version"}; what it leaves out is looked up in the bucket.

Exit codes: 0 each was taken or is known; 1 some could not be, and are named; 2 the
command line is wrong; 130 interrupted. It may be given again.`,
		Example: "  spate job send --keys missed.txt --stack logs\n  aws s3api list-objects-v2 … --query 'Contents[].Key' | jq -r .[] | spate job send --keys - --stack logs",
		Args:    noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			in, err := openKeys(keys, std)
			if err != nil {
				return err
			}
			defer in.Close()
			return s.ask(c.Context(), std, "send", func(stack *control.Control) error {
				return sendKeys(c.Context(), stack, in, as, std)
			})
		},
	}
	c.Flags().StringVar(&keys, "keys", "", "`FILE` that names the objects; - is standard input")
	if err := c.MarkFlagRequired("keys"); err != nil {
		panic(err) // the flag is the line above
	}
	formFlag(c, &as)
	return c
}

func openKeys(path string, std stdio) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(std.stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	return f, nil
}

// sentKeys is what spate job send prints.
type sentKeys struct {
	Taken   int            `json:"taken"`
	Ignored map[string]int `json:"ignored"`
	Failed  int            `json:"failed"`
}

// sendKeys is spate job send. Each failure is printed when it happens, on a
// line of its own.
func sendKeys(ctx context.Context, stack *control.Control, in io.Reader, as form, std stdio) error {
	sent := sentKeys{Ignored: map[string]int{}}
	err := stack.Send(ctx, namedObjects(in), func(t control.Taken) {
		switch {
		case t.Error != "":
			sent.Failed++
			fmt.Fprintf(std.stderr, "spate: %s: %s\n", t.Key, oneLine(t.Error))
		case t.Ignored != "":
			sent.Ignored[t.Ignored]++
		default:
			sent.Taken++
		}
	})
	if as == asJSON {
		if e := writeJSON(std.stdout, sent); err == nil {
			err = e
		}
	} else {
		if _, e := fmt.Fprintln(std.stdout, sent.text()); err == nil {
			err = e
		}
	}
	if err == nil && sent.Failed > 0 {
		err = fmt.Errorf("%s could not be taken: repeat the command once that is fixed", many(sent.Failed, "object", "objects"))
	}
	return err
}

func (s sentKeys) text() string {
	parts := []string{many(s.Taken, "object", "objects") + " taken"}
	for _, reason := range slices.Sorted(maps.Keys(s.Ignored)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Ignored[reason], reason))
	}
	return strings.Join(parts, ", ")
}

// maxKeyLine bounds a line: a key of 1 KiB as JSON, with everything else that
// may be given.
const maxKeyLine = 16 << 10

// namedObjects returns a function that reads the objects named by lines, one
// per call.
func namedObjects(in io.Reader) func() (control.Named, bool, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, maxKeyLine), maxKeyLine)
	n := 0
	return func() (o control.Named, ok bool, err error) {
		for lines.Scan() {
			n++
			line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
			if len(line) == 0 {
				continue
			}
			if line[0] != '{' {
				return control.Named{Key: string(line)}, true, nil
			}
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&o); err != nil || o.Key == "" {
				return o, false, fmt.Errorf("--keys: line %d: want a key, or a JSON object with one: %q", n, line)
			}
			return o, true, nil
		}
		if err := lines.Err(); err != nil {
			return o, false, fmt.Errorf("--keys: line %d: %w", n+1, err)
		}
		return o, false, nil
	}
}
