package clickhousesink

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// exception is an error that a server answered with.
type exception struct {
	status int
	code   int // the server's; 0: it gave none, so it may be no ClickHouse
	text   string
	view   bool // it is a materialized view's, not the table's own
}

func (e *exception) Error() string {
	switch {
	case e.code != 0:
		return fmt.Sprintf("code %d: %s", e.code, e.text)
	case e.text == "":
		return fmt.Sprintf("status %d", e.status)
	}
	return fmt.Sprintf("status %d: %s", e.status, e.text)
}

const maxText = 600 // bytes of a server's message that are shown

var (
	codeText  = regexp.MustCompile(`Code: (\d+)[.,]`)
	tableID   = regexp.MustCompile(` \([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\)`)
	codeStart = regexp.MustCompile(`^(?:\s*Code: \d+[.,]\s*(?:e\.displayText\(\) = )?(?:DB::Exception: )?)+`)
	codeName  = regexp.MustCompile(`[.\s]*\(([A-Z][A-Z0-9_]*)\)[.\s]*$`)
	version   = regexp.MustCompile(`\s*\(version \d+\.[^()]*(?:\([^()]*\))?\)`)
	what      = regexp.MustCompile(`(?s), e\.what\(\) = .*$`)
)

// fault is the exception that an answer holds, nil if none. It may be in the
// status, in a header, in a trailer, or, where the status was sent before it
// happened, at the end of the text.
func (a *answer) fault(hide func(string) string) *exception {
	code, _ := strconv.Atoi(a.header.Get("X-ClickHouse-Exception-Code"))
	text := a.text
	at := codeText.FindSubmatchIndex(text)
	if i := bytes.LastIndex(text, []byte("Code: ")); a.status == http.StatusOK && i >= 0 {
		if at = codeText.FindSubmatchIndex(text[i:]); at != nil {
			text = text[i:]
		}
	}
	if code == 0 && at != nil {
		code, _ = strconv.Atoi(string(text[at[2]:at[3]]))
	}
	if code == 0 && a.status == http.StatusOK {
		return nil
	}
	// What is shown of a text is its beginning, and views stand at the end.
	return &exception{a.status, code, tidy(hide(string(text))), bytes.Contains(text, []byte("pushing to view"))}
}

// empty reports whether an insert's answer is the one that says it is stored: no
// text, from a server that calls itself ClickHouse. Whatever else answers 200
// has stored nothing.
func (a *answer) empty() bool {
	if len(bytes.TrimSpace(a.text)) > 0 {
		return false
	}
	for name := range a.header {
		if strings.HasPrefix(strings.ToLower(name), "x-clickhouse-") {
			return true
		}
	}
	return false
}

// tidy is a message on one line, without what the code says already, the server's
// version, and the table's id, which is another on each replica: what is written
// down of a refused row is the same each time.
func tidy(text string) string {
	s := strings.ToValidUTF8(text[:min(len(text), 8*maxText)], "?")
	s = codeStart.ReplaceAllString(s, "")
	for _, cut := range []*regexp.Regexp{what, version, tableID} {
		s = cut.ReplaceAllString(s, "")
	}
	s = strings.Join(strings.Fields(s), " ")
	// A server that throws an exception again names its code again.
	name := ""
	for at := codeName.FindStringSubmatchIndex(s); at != nil; at = codeName.FindStringSubmatchIndex(s) {
		last := s[at[2]:at[3]]
		if name != "" && last != name {
			break // of another one, within
		}
		s, name = s[:at[0]], last
	}
	return failure.Excerpt(strings.TrimRight(s, ". "), maxText)
}
