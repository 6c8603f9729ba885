package s3sink

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink"
)

// DefaultPartition stands for an empty value, as in Hive and everything that
// reads its tables.
const DefaultPartition = "__HIVE_DEFAULT_PARTITION__"

// object is what is written of a block under one key.
type object struct {
	key  string
	rows []byte
}

// objects are those of a block, in the order of their first rows.
func (s *Sink) objects(b *sink.Block) ([]object, error) {
	if b.Rows == 0 {
		return nil, nil
	}
	if s.opt.Partition == nil {
		key, err := s.key("", b, b.Part)
		return []object{{key, b.Data}}, err
	}
	parts, err := s.split(b)
	if err != nil {
		return nil, err
	}
	if n := len(parts); n > s.opt.MaxPartitions {
		return nil, failure.Errorf(failure.Unit, failure.SinkRejected,
			"write %s: its %d rows fall into %d partitions, and at most %d may be open: raise max_partitions or partition less finely",
			b.Token, b.Rows, n, s.opt.MaxPartitions)
	}
	objects := make([]object, len(parts))
	for i, p := range parts {
		key, err := s.key(p.dir+"/", b, b.Part*maxPartitions+i)
		if err != nil {
			return nil, err
		}
		objects[i] = object{key, p.rows}
	}
	return objects, nil
}

func (s *Sink) key(dir string, b *sink.Block, n int) (string, error) {
	key := fmt.Sprintf("%s%s%s-%d.%d-%d.%s", s.opt.Prefix, dir, b.Unit, b.Series, b.Segment, n, s.opt.Extension)
	key += s.opt.Compression.extension()
	switch {
	case len(key) > maxKeyBytes:
		return "", failure.Errorf(failure.Unit, failure.SinkRejected,
			"write %s: the key %.80q… of its partition has %d bytes, and S3 takes %d: partition by something shorter", b.Token, key, len(key), maxKeyBytes)
	case s.avoid != "" && strings.HasPrefix(key, s.avoid):
		return "", failure.Errorf(failure.Job, failure.Config,
			"write %q: it lies inside the source %s, and would be read again: give the sink another prefix", "s3://"+s.bucket+"/"+key, s.opt.Source)
	}
	return key, nil
}

// part is the rows of a block in one partition.
type part struct {
	dir  string
	rows []byte
}

// split groups rows by partition. Those of a partition keep their order.
func (s *Sink) split(b *sink.Block) ([]part, error) {
	var (
		parts  []part
		sizes  []int
		of     = make([]int, 0, b.Rows) // the part that a row is in
		named  = map[string]int{}       // parts by what Partition calls them, and
		places = map[string]int{}       // by directory: two names may have one
	)
	for line := range bytes.Lines(b.Data) {
		row, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			of = nil // it is not a row, even if there are enough without it
			break
		}
		name, err := s.opt.Partition(row)
		if err != nil {
			return nil, failure.Errorf(failure.Unit, failure.SinkRejected, "write %s: partition of row %d: %w", b.Token, len(of), err)
		}
		i, known := named[name]
		if !known {
			dir := directory(name)
			if i, known = places[dir]; !known {
				i = len(parts)
				parts, sizes, places[dir] = append(parts, part{dir: dir}), append(sizes, 0), i
			}
			named[name] = i
		}
		of = append(of, i)
		sizes[i] += len(line)
	}
	if len(of) != b.Rows {
		return nil, failure.Errorf(failure.Job, failure.Config,
			"write %s: its %d rows are not that many lines, and only lines can be partitioned: drop partition, or encode a row as a line", b.Token, b.Rows)
	}
	gather(b.Data, of, parts, sizes)
	return parts, nil
}

// gather gives each part its rows, next to one another.
func gather(data []byte, of []int, parts []part, sizes []int) {
	if len(parts) == 1 {
		parts[0].rows = data
		return
	}
	space := make([]byte, len(data))
	for i, n := range sizes {
		parts[i].rows, space = space[:0:n], space[n:]
	}
	row := 0
	for line := range bytes.Lines(data) {
		p := &parts[of[row]]
		p.rows = append(p.rows, line...)
		row++
	}
}

// directory turns a partition's name into a part of a key.
func directory(name string) string {
	levels := strings.Split(name, "/")
	for i, l := range levels {
		column, value, hive := strings.Cut(l, "=")
		if hive {
			levels[i] = escape(column) + "=" + escape(value)
		} else {
			levels[i] = escape(l)
		}
	}
	return strings.Join(levels, "/")
}

// escaped are the printable characters that Hive does not leave as they are.
const escaped = `"#%'*/:=?\{[]^`

// escape writes %XX for what is not plain text in a directory's name. Tools
// that take keys for paths would follow "." and "..", so these are escaped too.
func escape(value string) string {
	switch value {
	case "":
		return DefaultPartition
	case ".", "..":
		return strings.ReplaceAll(value, ".", "%2E")
	}
	var b strings.Builder
	for len(value) > 0 {
		r, n := utf8.DecodeRuneInString(value)
		if r < ' ' || r == 0x7F || strings.ContainsRune(escaped, r) || r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "%%%02X", value[0])
		} else {
			b.WriteString(value[:n])
		}
		value = value[n:]
	}
	return b.String()
}
