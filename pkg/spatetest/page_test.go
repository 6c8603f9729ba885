package spatetest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the page shows is code that runs: each block of it stands in a test.
func TestThePageShowsCodeThatRuns(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	code := ""
	for _, path := range []string{"example_test.go", "../../examples/custom/main_test.go"} {
		for line := range strings.Lines(read(path)) {
			code += strings.TrimPrefix(line, "\t")
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read("../../docs/TESTING.md"), -1)
	if len(blocks) < 3 {
		t.Errorf("the page has %d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(code, b[1]) {
			t.Errorf("no test runs this:\n%s", b[1])
		}
	}
}
