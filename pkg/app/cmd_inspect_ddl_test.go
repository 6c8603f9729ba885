package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInspectSuggestsATable(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"access-log.ndjson": "{\"a\":1}\n{\"a\":2,\"b\":\"x\"}\n",
		"more.json":         `[{"a":-3,"b":"y"}]`,
		"text.log":          "one\ntwo\n",
		"empty.ndjson":      "",
		"values.ndjson":     "[1]\n[2]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"of one object, named by its key", []string{"access-log.ndjson"}, exitOK, []string{"CREATE TABLE `access_log`", "`a` UInt32,", "`b` Nullable(String)"}},
		{"of several together", []string{"access-log.ndjson", "more.json"}, exitOK, []string{"CREATE TABLE `access_log`", "`a` Int32,"}},
		{"named by a flag", []string{"more.json", "--table", "x"}, exitOK, []string{"CREATE TABLE `x`"}},
		{"of text there is none", []string{"text.log"}, exitIncomplete, []string{"no record in its first MiB is a JSON object", "format is lines"}},
		{"nor of other values", []string{"values.ndjson"}, exitIncomplete, []string{"no record in its first MiB is a JSON object"}},
		{"nor of nothing", []string{"empty.ndjson"}, exitIncomplete, []string{"it is empty"}},
		{"nor where one object has none", []string{"access-log.ndjson", "text.log"}, exitIncomplete, []string{"text.log"}},
		{"nor of what is not there", []string{"nosuch.ndjson"}, exitIncomplete, []string{"nosuch.ndjson"}},
		{"and it has no JSON form", []string{"more.json", "-o", "json"}, exitUsage, []string{"ddl", "output"}},
	} {
		args := []string{"inspect", "--ddl"}
		for _, a := range c.args {
			if strings.Contains(a, ".") {
				a = "file://" + filepath.Join(dir, a)
			}
			args = append(args, a)
		}
		code, stdout, stderr := cli(t, args...)
		if code != c.code || (code != exitOK) != (stdout == "") {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.code, stdout, stderr)
		}
		for _, w := range c.want {
			if !strings.Contains(stdout+stderr, w) {
				t.Errorf("%s: it does not say %q:\n%s%s", c.name, w, stdout, stderr)
			}
		}
	}
	if code, _, stderr := cli(t, "inspect", "--table", "x", "file:///x"); code != exitUsage || !strings.Contains(stderr, "--table") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
