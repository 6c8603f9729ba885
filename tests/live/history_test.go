package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spate-go/spate/pkg/unit"
)

// version is the bytes that a key had, at one time or several. To the job they are
// one thing, unless the bucket keeps versions that are told apart by more.
type version struct {
	key  string
	n    int // of the key's
	data []byte
	rows []string

	object unit.Object // as it was put last
	puts   int
	stood  time.Duration // the longest that it was current
}

// history is what happens to a bucket.
type history struct {
	*world
	keys     []string
	versions map[string][]*version // by key
	current  map[string]*version   // nil: deleted
	since    map[string]time.Time
	serial   int
	written  int // versions

	events, twice int // that were sent, and of them those that tell what another tells
	held          []notification
}

func newHistory(w *world) *history {
	return &history{world: w, versions: map[string][]*version{}, current: map[string]*version{}, since: map[string]time.Time{}}
}

// alphabet is what keys are made of, besides letters.
var alphabet = []string{"a+b%41", "day=1/", " ", "%", "é", "日本/", "\u0001", "&", "?x=1", "'", "\"", "\\", "~", ".."}

// fresh is a key that was not there.
func (h *history) fresh() string {
	var b strings.Builder
	b.WriteString(prefix)
	for range 1 + h.rng.IntN(3) {
		b.WriteString(alphabet[h.rng.IntN(len(alphabet))])
	}
	fmt.Fprintf(&b, "%05d.json", len(h.keys))
	key := b.String()
	h.keys = append(h.keys, key)
	return key
}

// recent is a key that was put of late, and mostly was not read yet.
func (h *history) recent() string {
	return h.keys[len(h.keys)-1-h.rng.IntN(min(20, len(h.keys)))]
}

// write puts new bytes under a key.
func (h *history) write(key string, records, size int) *version {
	v := &version{key: key, n: len(h.versions[key])}
	var data bytes.Buffer
	for i := range records {
		row := fmt.Sprintf(`{"from":%q,"version":%d,"row":%d,"fill":"`, key, v.n, i)
		row += strings.Repeat("-", max(0, size-len(row)-2)) + `"}`
		v.rows = append(v.rows, row)
		data.WriteString(row)
		data.WriteByte('\n')
	}
	v.data = data.Bytes()
	h.versions[key] = append(h.versions[key], v)
	h.written++
	h.put(v)
	return v
}

// put makes v its key's current version, and has that announced.
func (h *history) put(v *version) {
	h.gone(v.key)
	h.serial++
	v.object = h.bucket.Put(v.key, v.data)
	if !h.bucket.Versioned {
		v.object.Version = ""
	}
	v.puts++
	h.current[v.key], h.since[v.key] = v, time.Now()
	h.tell(notification{v.object, time.Now().UTC(), h.serial})
}

// unwanted puts what is not to be read.
func (h *history) unwanted() {
	key := []string{prefix + "empty", prefix + "directory/", prefix + "x.tmp", "out/x", "inner"}[h.rng.IntN(5)]
	var data []byte
	if !strings.HasPrefix(key, prefix) || strings.HasSuffix(key, ".tmp") {
		data = []byte("{}\n")
	}
	h.serial++
	h.tell(notification{h.bucket.Put(key, data), time.Now().UTC(), h.serial})
}

// gone ends the time of what is current under a key.
func (h *history) gone(key string) {
	if v := h.current[key]; v != nil {
		v.stood = max(v.stood, time.Since(h.since[key]))
	}
	h.current[key] = nil
}

func (h *history) remove(key string) {
	h.gone(key)
	h.bucket.Delete(key)
}

// tell sends a notification in one of its shapes, alone or with others, perhaps
// twice and perhaps late.
func (h *history) tell(n notification) {
	times := 1
	if h.rng.Float64() < 0.1 {
		times = 2
		h.twice++
	}
	for range times {
		h.events++
		switch h.rng.IntN(5) {
		case 0:
			h.send(fromEventBridge(n))
		case 1:
			h.send(throughSNS(fromS3(n)))
		case 2:
			h.send(fromS3(n))
		default:
			h.held = append(h.held, n)
			if h.rng.IntN(3) == 0 {
				h.flush()
			}
		}
	}
}

// flush sends the records that wait for a message of several.
func (h *history) flush() {
	if len(h.held) == 0 {
		return
	}
	h.rng.Shuffle(len(h.held), func(i, j int) { h.held[i], h.held[j] = h.held[j], h.held[i] })
	h.send(fromS3(h.held...))
	h.held = nil
}

func (h *history) send(body string) { h.queue.send(body, h.late()) }

// latest is how long a notification may take.
const latest = 5 * time.Minute

func (h *history) late() time.Duration {
	switch p := h.rng.Float64(); {
	case p < 0.8:
		return time.Duration(h.rng.Int64N(int64(time.Second)))
	case p < 0.98:
		return time.Duration(h.rng.Int64N(int64(time.Minute)))
	}
	return time.Duration(h.rng.Int64N(int64(latest)))
}

// end ends the times of all that is current.
func (h *history) end() {
	h.flush()
	for key, v := range h.current {
		if v != nil {
			v.stood = max(v.stood, time.Since(h.since[key]))
		}
	}
}
