package codec

import (
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// HeadBytes is how much of an object's beginning Sniff needs at most.
const HeadBytes = 16

// minHead is the length of the shortest compressed object that could be told
// from text: gzip's signature alone is two bytes.
const minHead = 4

// Sniff returns the codec of an object from its first HeadBytes bytes (fewer
// only when the object is that short). An object of up to 3 bytes is plain. An
// unsupported compression, or text in another encoding than UTF-8, fails as
// failure.Member with undecodable, and the error names it.
func Sniff(head []byte) (Codec, error) {
	c, name := identify(head)
	if name != "" {
		return "", failure.Errorf(failure.Member, failure.Undecodable,
			"read object: it is %s, which is not supported: store it as UTF-8 text, plain or in gzip or zstd", name)
	}
	return c, nil
}

// identify returns the codec of what begins with head, or the name of an
// unsupported format.
func identify(head []byte) (c Codec, refused string) {
	s := string(head[:min(len(head), HeadBytes)])
	if len(s) < minHead {
		return Plain, ""
	}
	switch {
	case strings.HasPrefix(s, "\x1f\x8b"):
		return Gzip, ""
	case strings.HasPrefix(s, "\x28\xb5\x2f\xfd"), isSkippable(s):
		return Zstd, ""
	}
	for _, f := range foreign {
		if strings.HasPrefix(s, f.magic) {
			return "", f.name
		}
	}
	return Plain, ""
}

// isSkippable reports whether s begins a skippable frame of zstd: sixteen
// signatures that differ in the low half of the first byte.
func isSkippable(s string) bool {
	return s[0]&0xf0 == 0x50 && s[1:4] == "\x2a\x4d\x18"
}

// foreign lists the formats that are recognised only to be refused. A signature
// of letters alone includes the bytes after it, because "BZh" or "PK" may well
// begin a line of text. UTF-32 comes before UTF-16, whose byte order mark it
// begins with.
var foreign = []struct{ magic, name string }{
	{"PK\x03\x04", "a zip archive"},
	{"PK\x05\x06", "an empty zip archive"},
	{"PK\x07\x08", "a zip archive in parts"},
	{"BZh11AY&SY", "bzip2"},
	{"BZh21AY&SY", "bzip2"},
	{"BZh31AY&SY", "bzip2"},
	{"BZh41AY&SY", "bzip2"},
	{"BZh51AY&SY", "bzip2"},
	{"BZh61AY&SY", "bzip2"},
	{"BZh71AY&SY", "bzip2"},
	{"BZh81AY&SY", "bzip2"},
	{"BZh91AY&SY", "bzip2"},
	{"BZh9\x17rE8P\x90", "empty bzip2"},
	{"\xfd7zXZ\x00", "xz"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x04\x22\x4d\x18", "lz4"},
	{"\x02\x21\x4c\x18", "lz4 in its legacy format"},
	{"\xff\x06\x00\x00sNaPpY", "snappy"},
	{"\x82SNAPPY\x00", "snappy as Java's xerial writes it"},
	{"\x1f\x9d", "Unix compress (.Z)"},
	{"\x22\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\x23\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\x24\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\x25\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\x26\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\x27\xb5\x2f\xfd", "zstd in a format from before 1.0"},
	{"\xff\xfe\x00\x00", "UTF-32 text (little-endian byte order mark)"},
	{"\x00\x00\xfe\xff", "UTF-32 text (big-endian byte order mark)"},
	{"\xff\xfe", "UTF-16 text (little-endian byte order mark)"},
	{"\xfe\xff", "UTF-16 text (big-endian byte order mark)"},
}
