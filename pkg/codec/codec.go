// Package codec undoes the compression of objects: gzip, zstd, or none.
//
// The content decides, never the label: labels lie both ways. A compression
// that is known but not read, and text in UTF-16 or UTF-32, is refused by name
// instead of coming out as garbage rows.
//
// It does no input of its own, starts no goroutine and does not tell formats
// apart: JSON, CSV and Avro all look plain to it.
//
// The law it keeps: what comes out is exactly what was compressed, whole, or
// the read ends in an error. Memory depends on the declared window and not on
// what the bytes inflate to (INV-6). A fault of the source stays a fault of the
// source: only bytes that arrived and are wrong are undecodable.
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

// ByLabel is the codec that the ending of key promises. It is a hint to compare
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
