package aws_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/spate-go/spate/tests/lambdakit"
)

// line is a reader's line about a delivery of a unit.
type line struct {
	text string
	at   time.Time
}

// field is a value of the line, whichever of the two forms of logs it has.
func (l line) field(name string) string {
	m := regexp.MustCompile(`[ ,]"?` + name + `"?[=:]"?([^", ]*)`).FindStringSubmatch(l.text)
	if m == nil {
		return ""
	}
	return m[1]
}

func (l line) number(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(l.field(name))
	if err != nil {
		t.Fatalf("%s of %q: %v", name, l.text, err)
	}
	return n
}

// timestamp is that of a line, in either form.
var timestamp = regexp.MustCompile(`^\{?"?(?:timestamp|time)"?[=:]"?([^" ,]+)`)

// lines are the reader's own lines about a run, in their order.
func (s *stack) lines(t *testing.T, job string, run int) []line {
	t.Helper()
	var lines []line
	for _, text := range s.logs(t, "reader") {
		m := timestamp.FindStringSubmatch(text)
		if m == nil {
			continue // of the platform
		}
		at, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			t.Fatal(err)
		}
		l := line{text, at}
		if l.field("job") == job && l.field("run") == strconv.Itoa(run) {
			lines = append(lines, l)
		}
	}
	return lines
}

// logs are the lines of a function's log group.
func (s *stack) logs(t *testing.T, function string) []string {
	t.Helper()
	lines, err := lambdakit.LogLines(t.Context(), s.config, os.Getenv("AWS_ENDPOINT_URL"), "/aws/lambda/"+s.name+"-"+function)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
