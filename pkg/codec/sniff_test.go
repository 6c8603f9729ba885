package codec_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/failure"
)

func TestSniff(t *testing.T) {
	tests := []struct {
		name, head string
		want       codec.Codec
		refused    string // what the error has to say
	}{
		{"nothing is plain", "", codec.Plain, ""},
		{"text is plain", `{"a":1}`, codec.Plain, ""},
		{"three bytes are plain whatever they are", "\x1f\x8b\x08", codec.Plain, ""},
		{"gzip", "\x1f\x8b\x08\x00", codec.Gzip, ""},
		{"zstd", "\x28\xb5\x2f\xfd", codec.Zstd, ""},
		{"a skippable frame is zstd", "\x50\x2a\x4d\x18\x00\x00\x00\x00", codec.Zstd, ""},
		{"the last kind of skippable frame is zstd", "\x5f\x2a\x4d\x18", codec.Zstd, ""},
		{"its neighbour is not", "\x60\x2a\x4d\x18", codec.Plain, ""},
		{"nor is what shares its bits", "\x70\x2a\x4d\x18", codec.Plain, ""},
		{"a UTF-8 byte order mark is plain", "\xef\xbb\xbf{}", codec.Plain, ""},
		{"zip", "PK\x03\x04\x14\x00\x00\x00", "", "zip archive"},
		{"empty zip", "PK\x05\x06\x00\x00", "", "zip archive"},
		{"bzip2", "BZh91AY&SY\x12\x34", "", "bzip2"},
		{"empty bzip2", "BZh9\x17rE8P\x90\x00\x00\x00\x00", "", "bzip2"},
		{"xz", "\xfd7zXZ\x00\x00\x04", "", "xz"},
		{"7z", "7z\xbc\xaf\x27\x1c\x00", "", "7z"},
		{"lz4", "\x04\x22\x4d\x18\x64", "", "lz4"},
		{"legacy lz4", "\x02\x21\x4c\x18", "", "lz4"},
		{"snappy", "\xff\x06\x00\x00sNaPpY", "", "snappy"},
		{"xerial snappy", "\x82SNAPPY\x00\x00\x00\x00\x01", "", "snappy"},
		{"compress", "\x1f\x9d\x90\x61", "", "compress"},
		{"old zstd", "\x27\xb5\x2f\xfd", "", "zstd in a format"},
		{"UTF-16 little-endian", "\xff\xfea\x00", "", "UTF-16 text (little"},
		{"UTF-16 big-endian", "\xfe\xff\x00a", "", "UTF-16 text (big"},
		{"UTF-32 little-endian", "\xff\xfe\x00\x00a\x00\x00\x00", "", "UTF-32 text (little"},
		{"UTF-32 big-endian", "\x00\x00\xfe\xff\x00\x00\x00a", "", "UTF-32 text (big"},
		{"a line that begins with PK is plain", "PK,name\n1,a\n", codec.Plain, ""},
		{"a line that begins with BZh9 is plain", "BZh9 is bzip2\n", codec.Plain, ""},
		{"a line that begins with 7z is plain", "7zip\n", codec.Plain, ""},
		{"other binary data is plain", "\x00\x01\x02\x03", codec.Plain, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := codec.Sniff([]byte(tt.head))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.refused == "" {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			wantUndecodable(t, err, tt.refused)
			// A Reader refuses the same, before it gives a byte.
			_, err = decode(t, codec.Options{}, tt.head)
			wantUndecodable(t, err, tt.refused)
		})
	}
}

func TestTheExtensionPromisesTheCodec(t *testing.T) {
	for key, want := range map[string]codec.Codec{
		"a/b.json.gz": codec.Gzip, "b.GZ": codec.Gzip, "b.gzip": codec.Gzip, "b.zst": codec.Zstd, "b.zstd": codec.Zstd,
		"b.json": codec.Plain, "b": codec.Plain, "a.gz/b": codec.Plain, "gz": codec.Plain, "": codec.Plain,
	} {
		if got := codec.ByLabel(key); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

func wantUndecodable(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", says)
	}
	if scope, reason := failure.Of(err); scope != failure.Member || reason != failure.Undecodable {
		t.Errorf("%v is of scope %v, %v", err, scope, reason)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error %q does not say %q", err, says)
	}
}
