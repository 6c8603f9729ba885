// Package codec undoes the compression of objects: gzip, zstd, or none.
//
// The content decides, never the label, which may be wrong either way. A known
// but unsupported compression, and text in UTF-16 or UTF-32, is refused by name
// instead of coming out as garbage rows.
//
// It opens nothing, starts no goroutine and does not tell formats apart: JSON,
// CSV and Avro all look plain to it.
//
// The law: what comes out is exactly and completely what was compressed, or the
// read ends in an error. Memory depends on the declared window, not on how far
// the bytes inflate (INV-6). An error of the source stays the source's: only
// bytes that did arrive and are wrong are undecodable.
package codec

import (
	"path"
	"strings"
)

// Codec is a compression. Its values are those of source.s3.compression.
type Codec string

// The codecs.
const (
	Plain Codec = "none"
	Gzip  Codec = "gzip"
	Zstd  Codec = "zstd"
)

// ByLabel is the codec that the extension of key promises, a hint to compare
// with what Sniff finds.
func ByLabel(key string) Codec {
	switch strings.ToLower(path.Ext(key)) {
	case ".gz", ".gzip":
		return Gzip
	case ".zst", ".zstd":
		return Zstd
	}
	return Plain
}
