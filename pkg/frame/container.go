package frame

import (
	"bytes"

	"github.com/spate-go/spate/pkg/failure"
)

// ContainerBytes is how much of an object's beginning Container looks at.
const ContainerBytes = 512

// containers are formats whose line feeds end nothing, by what they begin with.
var containers = []struct{ magic, name string }{
	{"Obj\x01", "avro"},
	{"PAR1", "parquet"},
	{"ORC", "orc"},
}

// Container is the format of an object that begins with head, its first
// ContainerBytes bytes or all that there are, where records lie in a container
// that is no text: avro, parquet or orc. It is "" for everything else, and for a
// text that begins with the same letters.
func Container(head []byte) string {
	head = head[:min(len(head), ContainerBytes)]
	for _, c := range containers {
		if bytes.HasPrefix(head, []byte(c.magic)) && bytes.IndexFunc(head, unwritten) >= 0 {
			return c.name
		}
	}
	return ""
}

// unwritten reports whether no text holds r. Terminals leave escapes in theirs.
func unwritten(r rune) bool { return r < 0x20 && r != 0x1b && (r < '\a' || r > '\r') }

// mayContain reports whether what begins with head may turn out a container.
func mayContain(head []byte) bool {
	for _, c := range containers {
		if n := min(len(head), len(c.magic)); string(head[:n]) == c.magic[:n] {
			return true
		}
	}
	return false
}

// refused looks whether an object that begins with buf is a container; more
// says that this shows with more of it.
func refused(buf []byte, final bool) (more bool, err error) {
	if name := Container(buf); name != "" {
		return false, failure.Errorf(failure.Member, failure.Undecodable,
			"read object: it is %s, which is not supported: store it as NDJSON, or exclude it with source.s3.exclude", name)
	}
	return len(buf) < ContainerBytes && !final && mayContain(buf), nil
}
