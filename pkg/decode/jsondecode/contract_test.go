package jsondecode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/decode"
	"github.com/spate-go/spate/pkg/decode/decodetest"
	"github.com/spate-go/spate/pkg/decode/jsondecode"
)

// notJSON are no records whatever their type.
func notJSON() []string {
	return []string{
		``, `{`, `{"a":`, `[1,]`, `"\x"`, `nul`, `{} {}`, "\x00", `{"a":1,"message":"` + strings.Repeat("secret", 100),
		accessLog + `,`, strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	}
}

func TestTypedKeepsTheContract(t *testing.T) {
	for name, o := range map[string]jsondecode.Options{"duplicate keys allowed": {}, "and not": {DisallowDuplicateKeys: true}} {
		t.Run(name, func(t *testing.T) {
			bad := append(notJSON(), `{"retries":256}`, `{"http":{"status":"x"}}`, `[]`, `{"at":"`+strings.Repeat("secret", 100)+`"}`)
			if o.DisallowDuplicateKeys {
				bad = append(bad, `{"ok":true,"ok":true}`)
			}
			decodetest.Run(t, decodetest.Harness[event]{
				New: func() decode.Decoder[event] { return jsondecode.Typed[event](o) },
				Good: []string{
					accessLog, `{}`, `null`, `{"geo":{"lat":1},"tags":["z"],"labels":{"q":"r"},"http":{}}`,
					`{"any":{"a":[1]},"raw":{"x":[1]},"at":"2026-01-02T03:04:05Z","pair":[1,2],"bin":"aGVsbG8=","n":1.10,"by":{"1":"a"},"quoted":"12","deep":{"ok":true}}`,
				},
				Bad: bad,
				Show: func(e *event) string {
					b, err := json.Marshal(e)
					return fmt.Sprintf("%s %v", b, err)
				},
			})
		})
	}
}

func TestDocumentsKeepTheContract(t *testing.T) {
	for name, o := range map[string]jsondecode.Options{"duplicate keys allowed": {}, "and not": {DisallowDuplicateKeys: true}} {
		t.Run(name, func(t *testing.T) {
			bad := notJSON()
			if o.DisallowDuplicateKeys {
				bad = append(bad, `{"a":1,"\u0061":1}`)
			}
			decodetest.Run(t, decodetest.Harness[jsondecode.Document]{
				New: func() decode.Decoder[jsondecode.Document] { return jsondecode.Documents(o, paths()...) },
				Good: []string{
					accessLog, `{}`, `null`, ` [1, {"a":2}] `, `{"a":{"b":1,"c":"x"},"http":{"status":1},"geo":{"lat":1},"b":{"x":1},"bé":2,"":3}`, `{"a":5,"missing":{"x":6}}`,
				},
				Bad: bad,
				Show: func(d *jsondecode.Document) string {
					var b strings.Builder
					fmt.Fprintf(&b, "%q, object %v", d.Bytes(), d.IsObject())
					for i, p := range paths() {
						fmt.Fprintf(&b, ", %q: %q", p, d.Raw(i))
					}
					return b.String()
				},
			})
		})
	}
}
