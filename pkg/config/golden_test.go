package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the .err files")

const secret = "hunter2-hunter2"

func env(name string) (string, bool) {
	v, ok := map[string]string{
		"SECRET": secret,
		"EMPTY":  "",
		"LINES":  secret + "\nevil: true",
	}[name]
	return v, ok
}

func TestErrorsAreWhatTheyWere(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = load(filepath.Base(file), text, env)
			if err == nil {
				t.Fatal("no error")
			}
			got := err.Error() + "\n"
			if strings.Contains(got, "hunter2") {
				t.Errorf("the error shows a secret:\n%s", got)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
