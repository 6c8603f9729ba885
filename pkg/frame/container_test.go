package frame_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/frame"
)

// containerInputs begin as containers do, or nearly.
var containerInputs = []string{
	"Obj\x01\x04\x16\nb\n", "PAR1\x15\x04\n\x15\x00\nx", "ORC\n\x06\x12\x04\n", "ORC\x11\x00\x00\n",
	"Obj", "PAR1", "ORC", "P", "Ob\n", "ORC one\nORC two\n", "PAR1 is\r\nno file\n", "Object\n", "\x1b[1mORC\x1b[0m\n", "ORC\x1b[0m\n",
	"ORC" + strings.Repeat("\n", 508) + "\x00\n", "ORC" + strings.Repeat("\n", 509) + "\x00\n", "ORC" + strings.Repeat("a", 600) + "\nb\n",
	"\ufeffPAR1\x15\n", "\nPAR1\x15\n", "a\nObj\x01\n",
}

// contained says by other means than Container whether input is one.
func contained(input []byte) bool {
	head := input[:min(len(input), 512)]
	return regexp.MustCompile(`^(Obj\x01|PAR1|ORC)`).Match(head) &&
		regexp.MustCompile(`[\x00-\x06\x0e-\x1a\x1c-\x1f]`).Match(head)
}

func TestAContainerIsToldFromTextThatBeginsLikeOne(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{"Obj\x01\x04\x16avro.codec", "avro"},
		{"PAR1\x15\x04\x15\x80\xd4a\x15\x80\xd4aL\x15", "parquet"},
		{"PAR1\x15\x04\x15\x00\x15\x00L\x15", "parquet"},
		{"ORC\n\x06\x12\x04\x08\x01P\x00\n\x15\n\x03\x00", "orc"},
		{"ORC\x11\x00\x00\n\x06\x12\x04\x08\x01P\x000\x00", "orc"},
		{"ORC2\x00\x00(\xb5/\xfd Z\x85\x00\x00H", "orc"},
		{"ORC and elves\n", ""},
		{"PAR1", ""},
		{"Obj", ""},
		{"Object one\n", ""},
		{"ORC\t1\r\n\x1b[31mred\x1b[0m\n", ""},
		{"ORC à la carte\xff\n", ""},
		{"{\"a\":\"PAR1\x00\"}\n", ""},
		{" PAR1\x00", ""},
		{"", ""},
		{"ORC" + strings.Repeat("x", 508) + "\x00", "orc"},
		{"ORC" + strings.Repeat("x", 509) + "\x00", ""},
	} {
		if got := frame.Container([]byte(c.head)); got != c.want {
			t.Errorf("%.40q: got %q, want %q", c.head, got, c.want)
		}
	}
}

func TestAContainerIsRefusedByName(t *testing.T) {
	const input = "PAR1\x15\x04\n{}\n"
	for name, f := range map[string]frame.Framer{"ndjson": frame.NDJSON(0), "auto": frame.Auto(0)} {
		frames, _, err := f.Split(nil, []byte(input), true)
		scope, reason := failure.Of(err)
		if len(frames) > 0 || scope != failure.Member || reason != failure.Undecodable || !strings.Contains(err.Error(), "it is parquet") {
			t.Errorf("%s: %d frames, %v", name, len(frames), err)
		}
	}
	if got := records(frame.Lines(0), input); len(got) != 2 {
		t.Errorf("lines are bytes, whatever they are, and got %q", got)
	}
	f := frame.NDJSON(0)
	f.Reset(100)
	if frames, _, err := f.Split(nil, []byte(input), true); len(frames) != 2 || err != nil {
		t.Errorf("within an object: %d frames, %v", len(frames), err)
	}
}
