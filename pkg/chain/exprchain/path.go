package exprchain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/decode/jsondecode"
	"github.com/spate-go/spate/pkg/jsontext"
)

// parsePath reads keys with dots between, or as ["key"].
func parsePath(s string) ([]string, error) {
	var keys []string
	for rest := s; rest != "" || keys == nil; {
		if quotedKey, ok := strings.CutPrefix(rest, "["); ok {
			q, err := strconv.QuotedPrefix(quotedKey)
			if err != nil || q[0] != '"' || !strings.HasPrefix(quotedKey[len(q):], "]") {
				return nil, errors.New(`want a key in quotes between brackets, as ["odd.key"] (elements of arrays cannot be selected)`)
			}
			key, _ := strconv.Unquote(q)
			keys, rest = append(keys, key), quotedKey[len(q)+1:]
		} else {
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			if n == 0 || strings.ContainsAny(rest[:n], "\"]: \t\n,()") {
				return nil, errors.New(`want keys with dots between; write odd ones as ["odd key"]`)
			}
			keys, rest = append(keys, rest[:n]), rest[n:]
		}
		if after, ok := strings.CutPrefix(rest, "."); ok {
			if rest = after; rest == "" || rest[0] == '[' {
				return nil, errors.New("want a key after the dot")
			}
		} else if rest != "" && rest[0] != '[' {
			return nil, errors.New("want a dot between keys")
		}
	}
	return keys, nil
}

// place is where an edited record is read or written.
type place struct {
	text string // as the file has it
	keys jsondecode.Path
	key  []byte // of the member at the top level, as it is written when it is new
}

func (a *place) top() bool { return len(a.keys) == 1 }

// overlaps reports whether one of a and b leads through or to the other.
func (a *place) overlaps(b *place) bool {
	n := min(len(a.keys), len(b.keys))
	return slices.Equal(a.keys[:n], b.keys[:n])
}

// target is a place to write to, which need not be there.
func target(text string) (place, error) {
	keys, err := parsePath(text)
	if err != nil {
		return place{}, fmt.Errorf("%q: %w", text, err)
	}
	if keys[0] == "this" {
		if keys = keys[1:]; len(keys) == 0 {
			return place{}, errors.New("this is the whole record: name a member of it")
		}
	}
	return place{text, keys, jsontext.AppendQuoted(nil, keys[0])}, nil
}

// place is one to read from, which the steps before must have left.
func (p *plan) place(text string) (place, error) {
	a, err := target(text)
	if err != nil {
		return a, err
	}
	if !strings.HasPrefix(text, "this") && (a.keys[0] == "object" || a.keys[0] == "record") {
		return a, fmt.Errorf("%s is not part of the record: use set: {name: %[1]s}, or this.%[1]s for a member of that name", text)
	}
	return a, p.expect(a.keys[0])
}

// expect returns an error where it is known that the record has no such member.
func (p *plan) expect(name string) error {
	if p.leaves(name) {
		return nil
	}
	return fmt.Errorf("the steps before leave no %s%s", name, suggest(name, p.known))
}

// gains and loses keep account of the members that are known.
func (p *plan) gains(name string) {
	if p.known != nil && !slices.Contains(p.known, name) {
		p.known = append(slices.Clip(p.known), name)
	}
}

func (p *plan) loses(name string) {
	if p.known != nil {
		p.known = slices.DeleteFunc(slices.Clone(p.known), func(k string) bool { return k == name })
		if p.known == nil {
			p.known = []string{}
		}
	}
}
