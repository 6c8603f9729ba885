package inspect

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// records frames the beginning of the content. whole says that nothing follows
// it.
func (f *Finding) records(head []byte, whole bool, opt Options) {
	name, framer := formatOf(head)
	f.Content.Format = name
	if framer == nil {
		return
	}
	framer.Reset(0)
	frames, _, err := framer.Split(nil, head, whole)
	for i, fr := range frames {
		if opt.Each != nil && !fr.Oversize {
			opt.Each(head[fr.Start:fr.End])
		}
		if i >= opt.Records {
			continue
		}
		if fr.Oversize {
			f.Records = append(f.Records, "(longer than 1 MiB)")
			continue
		}
		f.Records = append(f.Records, shown(head[fr.Start:fr.End], opt.RecordBytes))
	}
	if err != nil && f.Problem == "" && len(frames) < opt.Records {
		f.Problem = err.Error()
	}
	if len(frames) == 0 && f.Problem == "" && !whole {
		f.Problem = "its first record is longer than 1 MiB"
	}
}

// shown is b for a terminal: at most n bytes of it, with whatever cannot be
// printed escaped.
func shown(b []byte, n int) string {
	var out strings.Builder
	left := n
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if size > left {
			out.WriteString("… (" + strconv.Itoa(len(b)) + " more bytes)")
			break
		}
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + strconv.FormatInt(int64(b[0])|0x100, 16)[1:])
		case strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			out.WriteString(q[1 : len(q)-1])
		}
		left -= size
		b = b[size:]
	}
	return out.String()
}
