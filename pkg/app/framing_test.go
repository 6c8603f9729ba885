package app_test

import (
	"strings"
	"testing"
)

func TestLoadChecksFraming(t *testing.T) {
	for _, tt := range []struct{ name, framing, want string }{
		{"every framing is known", "{auto: {max_record: 1MiB}}", ""},
		{"a path of keys", "{json_array: {path: detail.items, max_record: 1KiB}}", ""},
		{"an array at the top", "{json_array: }", ""},
		{"values", "{json: }", ""},
		{"rejects", "{rejects: {}}", ""},
		{"two of them", "{auto: {}, json: {}}", "p.yaml:5: framing: has auto and json: keep one"},
		{"a path with an empty key", "{json_array: {path: detail..items}}", `p.yaml:5: framing.json_array.path: "detail..items" has an empty key: write keys with one dot between, as detail.items`},
		{"a path where there is none", "{json: {path: a}}", "p.yaml:5: framing.json.path: unknown key; known here: max_record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, least+"framing: "+tt.framing+"\n")
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}
