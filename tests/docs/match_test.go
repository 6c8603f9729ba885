package docs_test

import (
	"slices"
	"testing"
)

func TestWhatIsShownIsWhatIsPrinted(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "b\n", false},
		{"a\n", "a\nb\n", false},
		{"a\n", "", false},
		{"", "a\n", false},
		{"in … ms\n", "in 12 ms\n", true},
		{"in … ms\n", "in 12 s\n", false},
		{"in …\n", "in\n", false},
		{"in …\n", "in 1\n2\n", false},
		{"a\n…\nz\n", "a\nz\n", true},
		{"a\n…\nz\n", "a\nb\nc\nz\n", true},
		{"a\n…\nz\n", "a\nb\n", false},
		{"a.c\n", "abc\n", false},
	} {
		if got := matches(c.shown, c.printed); got != c.want {
			t.Errorf("%q as %q: %v", c.printed, c.shown, got)
		}
	}
}

func TestBlocksAreFoundWithTheirLines(t *testing.T) {
	got, err := blocks("text\n```sh s3\na\nb\n```\n\n```console exit=2\n$ c \\\n  d\ne\n$ f\n```\n")
	if err != nil || len(got) != 2 || got[0].line != 3 || got[0].text != "a\nb\n" || !got[0].has(onEndpoint) || got[1].exit != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if c, want := commands(got[1].text), []command{{"c \\\n  d\n", "e\n"}, {"f\n", ""}}; !slices.Equal(c, want) {
		t.Errorf("commands %q, want %q", c, want)
	}
	for _, page := range []string{"```sh sometimes\n```\n", "```sh\n", "```bash\na\n```\n", "```console exit=two\n```\n"} {
		if got, err := blocks(page); err == nil {
			t.Errorf("%q: %+v", page, got)
		}
	}
}
