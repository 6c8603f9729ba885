package feedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/feed"
)

var bodies = []subtest{
	{"a body may hold whatever JSON can carry", carriesJSON},
	{"large bodies arrive whole, also many in one call", carriesLarge},
}

// carriesJSON leaves out what the encoder of descriptors escapes because queues
// refuse it raw: control characters, U+FFFE and U+FFFF.
func carriesJSON(t *testing.T, h Harness) {
	f, got := h.Open(t, 4), &log{}
	var every strings.Builder
	for r := rune(0x20); r < 0x3000; r++ {
		every.WriteRune(r)
	}
	every.WriteString("\uD7FF\uE000\uFEFF\uFFFD\U00010000\U0001F600\U0010FFFF")
	encoded, err := json.Marshal(every.String())
	if err != nil {
		t.Fatal(err)
	}
	var ms []feed.Message
	for i, body := range []string{
		string(encoded),
		`{"controls":"\u0000\u0001\u001f\u007f\b\f\n\r\t","high":"\ufffe\uffff","lone":"\ud800"}`,
		"{\n\t\"white\" : [ 1 ,\r\n 2 ] }\n",
		`{"quotes":"\"'<>&\\\/","etag":"\"9b2cf5\""}`,
		"\" leading and trailing \u2028\u2029\u0085\u00a0\"",
		`{}`,
	} {
		ms = append(ms, message(fmt.Sprintf("s3-%022d", i), body))
	}
	send(t, f, ms...)
	run(t, f, 2, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	arrive(t, h, got, ms)
}

func carriesLarge(t *testing.T, h Harness) {
	f, got := h.Open(t, 4), &log{}
	var ms []feed.Message
	for i := range 12 {
		body := fmt.Sprintf(`{"v":1,"n":%d,"pad":%q}`, i, strings.Repeat(string(rune('a'+i)), 200<<10-64))
		ms = append(ms, message(fmt.Sprintf("s3-%022d", i), body))
	}
	run(t, f, 3, func(_ context.Context, d feed.Delivery) error { got.add(d); return nil })
	send(t, f, ms...)
	arrive(t, h, got, ms)
}

func arrive(t *testing.T, h Harness, got *log, ms []feed.Message) {
	t.Helper()
	for _, m := range ms {
		h.eventually(t, "unit "+string(m.ID)+" is delivered", func() bool { return len(got.of(m.ID)) > 0 })
		if body := got.of(m.ID)[0].Body; !bytes.Equal(body, m.Body) {
			t.Errorf("unit %s: %d bytes sent, %d delivered, or others", m.ID, len(m.Body), len(body))
		}
	}
}
