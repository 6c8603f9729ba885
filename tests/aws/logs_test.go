package aws_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
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

// logs are the lines of a function's log group. There is no client for logs
// among what the project depends on, so the call is made by hand.
func (s *stack) logs(t *testing.T, function string) (lines []string) {
	t.Helper()
	for next := ""; ; {
		ask := map[string]string{"logGroupName": "/aws/lambda/" + s.name + "-" + function}
		if next != "" {
			ask["nextToken"] = next
		}
		var page struct {
			Events    []struct{ Message string }
			NextToken string
		}
		s.ask(t, "logs", "Logs_20140328.FilterLogEvents", ask, &page)
		for _, e := range page.Events {
			lines = append(lines, strings.TrimSpace(e.Message))
		}
		if next = page.NextToken; next == "" {
			return lines
		}
	}
}

// ask makes a call of a service that speaks JSON.
func (s *stack) ask(t *testing.T, service, call string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, os.Getenv("AWS_ENDPOINT_URL")+"/", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", call)
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	sum := sha256.Sum256(body)
	who, err := s.config.Credentials.Retrieve(t.Context())
	if err == nil {
		err = v4.NewSigner().SignHTTP(t.Context(), who, r, hex.EncodeToString(sum[:]), service, s.config.Region, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
}
