package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// step leads from a value to one in it.
type step struct {
	key     string
	index   int
	isIndex bool
}

// below is the path of a key under path. What it prints, parsePath reads.
func below(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"=\n\r\t ") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// item is the path of a list's item.
func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

var errPath = errors.New(`a path looks like source.s3.url, chain[0].filter or settings["a.b"]`)

// parsePath takes a path apart.
func parsePath(path string) ([]step, error) {
	var steps []step
	for rest := path; ; {
		var s step
		var err error
		if strings.HasPrefix(rest, "[") {
			s, rest, err = parseBracket(rest[1:])
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			s.key, rest = rest[:end], rest[end:]
			if s.key == "" {
				err = errPath
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		steps = append(steps, s)
		if rest == "" {
			return steps, nil
		}
		if next, ok := strings.CutPrefix(rest, "."); ok && !strings.HasPrefix(next, "[") {
			rest = next
		} else if rest[0] != '[' {
			return nil, fmt.Errorf("%q: %w", path, errPath)
		}
	}
}

// parseBracket reads an index or a quoted key up to the bracket that closes it.
func parseBracket(s string) (step, string, error) {
	if quoted, err := strconv.QuotedPrefix(s); err == nil {
		key, err := strconv.Unquote(quoted)
		rest, closed := strings.CutPrefix(s[len(quoted):], "]")
		if err != nil || !closed {
			return step{}, "", errPath
		}
		return step{key: key}, rest, nil
	}
	digits, rest, closed := strings.Cut(s, "]")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || !closed {
		return step{}, "", errPath
	}
	return step{index: i, isIndex: true}, rest, nil
}
