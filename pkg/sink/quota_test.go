package sink_test

import (
	"testing"

	"github.com/spate-go/spate/pkg/sink"
)

func TestQuotaAdmitsWholeBlocksWhileTheyFit(t *testing.T) {
	q := sink.NewQuota(10)
	for _, c := range []struct {
		token string
		bytes int64
		want  bool
	}{
		{"a", 6, true},
		{"b", 5, false},
		{"a", 6, true}, // again: it took its bytes before
		{"c", 4, true},
		{"d", 1, false},
		{"a", 6, true},
		{"b", 5, false},
	} {
		if got := q.Admit(c.token, c.bytes); got != c.want {
			t.Errorf("block %s of %d bytes: admitted %v, want %v", c.token, c.bytes, got, c.want)
		}
	}
}
