package inspect

import (
	"bytes"
	"path"
	"strings"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/frame"
)

// Formats by the names that the pipeline file has for them, and some that tell
// why there is none.
const (
	ndjson    = "ndjson"
	lines     = "lines"
	jsonArray = "json_array"
	inRecords = "json_array at Records"
	json      = "json"
	csv       = "csv"
	tsv       = "tsv"
	avro      = "avro"
	parquet   = "parquet"
	binary    = "binary"
)

// formatOf guesses the format of content that begins with head, and returns what
// frames it, nil for nothing.
func formatOf(head []byte) (string, frame.Framer) {
	if name := frame.Container(head); name != "" {
		return name, nil
	}
	if bytes.IndexByte(head[:min(len(head), 512)], 0) >= 0 {
		return binary, nil
	}
	switch frame.Detect(head) {
	case frame.InArray:
		return jsonArray, frame.JSONArray(readBytes)
	case frame.InRecords:
		return inRecords, frame.JSONPath([]string{"Records"}, readBytes)
	case frame.ByValue:
		return json, frame.JSON(readBytes)
	}
	text := bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return ndjson, frame.NDJSON(readBytes)
	}
	switch {
	case columns(text, ','):
		return csv, frame.Lines(readBytes)
	case columns(text, '\t'):
		return tsv, frame.Lines(readBytes)
	}
	return lines, frame.Lines(readBytes)
}

// columns reports whether the first two lines, quotes aside, have the same number
// of separators, and one at least.
func columns(text []byte, sep byte) bool {
	count := func(line []byte) (n int) {
		quoted := false
		for _, c := range line {
			if c == '"' {
				quoted = !quoted
			} else if c == sep && !quoted {
				n++
			}
		}
		return n
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	n := count(first)
	return n > 0 && n == count(second)
}

// labelOf is what the name and the metadata promise.
func labelOf(key string, m Metadata) Description {
	d := Description{Compression: string(codec.ByLabel(key))}
	switch strings.ToLower(m.ContentEncoding) {
	case "gzip":
		d.Compression = string(codec.Gzip)
	case "zstd":
		d.Compression = string(codec.Zstd)
	}
	name := strings.ToLower(key)
	if codec.ByLabel(key) != codec.Plain {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	d.Format = byExtension[path.Ext(name)]
	if d.Format == "" {
		d.Format = byType[m.ContentType]
	}
	return d
}

var byExtension = map[string]string{
	".ndjson": ndjson, ".jsonl": ndjson, ".jsonlines": ndjson, ".json": json, ".csv": csv, ".tsv": tsv,
	".avro": avro, ".parquet": parquet, ".log": lines, ".txt": lines,
}

var byType = map[string]string{
	"application/x-ndjson": ndjson, "application/jsonl": ndjson, "application/json": json, "text/csv": csv,
}

// compare notes where label and content differ. What a label leaves open is no
// difference: .json is all kinds of JSON, and .log all kinds of text.
func (f *Finding) compare() {
	l, c := f.Label, f.Content
	if c.Compression != "" && l.Compression != c.Compression {
		f.Mismatches = append(f.Mismatches, "compression: labelled "+l.Compression+", the content is "+c.Compression+"; with compression: auto the content decides")
	}
	kinds := map[string][]string{
		json:  {ndjson, jsonArray, inRecords, json},
		lines: {lines, ndjson, csv, tsv},
		csv:   {csv, lines},
		tsv:   {tsv, lines},
	}[l.Format]
	if kinds == nil {
		kinds = []string{l.Format}
	}
	if l.Format == "" || c.Format == "" {
		return
	}
	for _, k := range kinds {
		if k == c.Format {
			return
		}
	}
	f.Mismatches = append(f.Mismatches, "format: labelled "+l.Format+", the content looks like "+c.Format)
}
