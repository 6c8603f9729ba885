package app

import (
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/frame"
	"github.com/spate-go/spate/pkg/plan"
)

// FramingConfig is how bytes become records.
type FramingConfig struct {
	Auto      *RecordConfig `yaml:"auto"`       // by an object's first bytes
	NDJSON    *RecordConfig `yaml:"ndjson"`     // a value a line
	Lines     *RecordConfig `yaml:"lines"`      // text, a record a line
	JSON      *RecordConfig `yaml:"json"`       // values that follow one another, or one in each object
	JSONArray *ArrayConfig  `yaml:"json_array"` // the elements of an array
	Rejects   *RecordConfig `yaml:"rejects"`    // the records in files of the rejects section
}

// RecordConfig bounds a record.
type RecordConfig struct {
	MaxRecord config.Size `yaml:"max_record"` // 0: 16 MiB
}

// ArrayConfig says which array.
type ArrayConfig struct {
	Path      string      `yaml:"path" example:"Records"` // keys to it, dots between; "": an array at the top
	MaxRecord config.Size `yaml:"max_record"`             // of an element; 0: 16 MiB
}

// framing is how an object's bytes become records.
type framing struct {
	name   string // with everything in its section that moves a record's boundary
	limit  int
	framer func() frame.Framer
	// cut is how large objects are cut into ranges; nil: they are not. cuttable
	// decides from their first head bytes; nil: all plain text may be cut.
	cut      *plan.Cut
	head     int64
	cuttable func(head []byte) bool
	lines    bool // no record holds a line feed
}

// framing is p's, or that of the pipeline file, which is NDJSON if it does not
// say.
func (c *Config) framing(p Pipeline) framing {
	if p.Framer != nil {
		return framing{name: "go", framer: p.Framer, lines: true}
	}
	s := c.Framing
	if s == nil {
		s = &FramingConfig{NDJSON: &RecordConfig{}}
	}
	byLine := &plan.Cut{Delimiter: '\n'}
	switch {
	case s.Auto != nil:
		f := framed("auto", s.Auto.MaxRecord, frame.Auto)
		f.cut, f.head, f.cuttable = byLine, frame.HeadBytes, plainLines
		return f
	case s.Lines != nil:
		f := framed("lines", s.Lines.MaxRecord, frame.Lines)
		f.cut, f.lines = byLine, true
		return f
	case s.JSON != nil:
		return framed("json", s.JSON.MaxRecord, frame.JSON)
	case s.JSONArray != nil:
		path := s.JSONArray.keys()
		return framed(fmt.Sprintf("json_array %q", path), s.JSONArray.MaxRecord, func(limit int) *frame.JSONFramer {
			return frame.JSONPath(path, limit)
		})
	case s.Rejects != nil:
		return framed("rejects", s.Rejects.MaxRecord, frame.Rejects)
	}
	f := framed("ndjson", s.NDJSON.MaxRecord, frame.NDJSON)
	f.cut, f.head, f.cuttable, f.lines = byLine, frame.ContainerBytes, plainText, true
	return f
}

func framed[F frame.Framer](name string, limit config.Size, newFramer func(int) F) framing {
	if limit == 0 {
		limit = frame.DefaultMaxRecord
	}
	return framing{name: name, limit: int(limit), framer: func() frame.Framer { return newFramer(int(limit)) }}
}

// plainLines reports whether an object under auto, with that head, may be cut.
func plainLines(head []byte) bool { return plainText(head) && frame.LineByLine(head) }

// plainText reports whether an object under ndjson may be cut. Of a container only
// the range that begins it could be refused.
func plainText(head []byte) bool {
	c, err := codec.Sniff(head)
	return err == nil && c == codec.Plain && frame.Container(head) == ""
}

// only keeps large objects whole if the configuration forces a codec that
// cannot be entered in the middle.
func (f framing) only(forced codec.Codec) framing {
	if forced != "" && forced != codec.Plain {
		f.cut = nil
	}
	return f
}

func (a *ArrayConfig) keys() []string {
	if a.Path == "" {
		return nil
	}
	return strings.Split(a.Path, ".")
}
