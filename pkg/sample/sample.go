// Package sample makes up objects that look like the logs of a web shop: for
// trying a pipeline, for tests and for measurements.
//
// It writes to writers and knows neither files nor stores, and its records are
// of one kind: whoever needs others has to bring them.
//
// The law: the same seed gives the same records, byte for byte, on every machine
// and in every release. Compressed, they are the same within a release.
package sample

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Format is how records lie in an object.
type Format string

// The formats.
const (
	NDJSON    Format = "ndjson"
	JSONArray Format = "json-array"
	CSV       Format = "csv" // with a header line
)

// Compression is what is done to the whole object.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Totals are what was written.
type Totals struct {
	Records int64
	Bytes   int64 // before compression
}

// Object says what one object is. The zero value is one plain record of NDJSON.
type Object struct {
	Format      Format      // "" means NDJSON
	Compression Compression // "" means None
	Seed        uint64
	From        time.Time // the records are of this moment and soon after
	Size        int64     // bytes before compression, at most, but one record at least
}

// Check says what of o is unknown, as Write would.
func (o Object) Check() error {
	if _, err := o.Format.form(); err != nil {
		return err
	}
	_, err := o.Compression.writer(io.Discard)
	return err
}

// Write writes the object to w.
func (o Object) Write(w io.Writer) (Totals, error) {
	c, err := o.Compression.writer(w)
	if err != nil {
		return Totals{}, err
	}
	t, err := o.write(c)
	return t, errors.Join(err, c.Close())
}

func (o Object) write(w io.Writer) (t Totals, err error) {
	f, err := o.Format.form()
	if err != nil {
		return t, err
	}
	put := func(b []byte) error {
		n, err := w.Write(b)
		t.Bytes += int64(n)
		return err
	}
	if err := put([]byte(f.head)); err != nil {
		return t, err
	}
	events := NewEvents(o.Seed, o.From)
	var b []byte
	for {
		e := events.Next()
		b = b[:0]
		if t.Records > 0 {
			b = append(b, f.between...)
		}
		b = f.record(e, b)
		if t.Records > 0 && t.Bytes+int64(len(b)+len(f.tail)) > o.Size {
			return t, put([]byte(f.tail))
		}
		if err := put(b); err != nil {
			return t, err
		}
		t.Records++
	}
}

// form is what a format puts around records.
type form struct {
	head, between, tail string
	record              func(e *Event, dst []byte) []byte
}

func (f Format) form() (form, error) {
	switch f {
	case NDJSON, "":
		return form{record: func(e *Event, dst []byte) []byte { return append(e.AppendJSON(dst), '\n') }}, nil
	case JSONArray:
		return form{head: "[\n", between: ",\n", tail: "\n]\n", record: (*Event).AppendJSON}, nil
	case CSV:
		return form{head: csvHeader, record: (*Event).appendCSV}, nil
	}
	return form{}, fmt.Errorf("make object: format %q is not one of %s, %s, %s", f, NDJSON, CSV, JSONArray)
}

// Extension is what the names of such objects end in.
func (o Object) Extension() string {
	return map[Format]string{JSONArray: ".json", CSV: ".csv", NDJSON: ".ndjson", "": ".ndjson"}[o.Format] +
		map[Compression]string{Gzip: ".gz", Zstd: ".zst"}[o.Compression]
}
