package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader turns a YAML tree into nodes, and refuses what a configuration has no
// use for.
type reader struct {
	file string
	refs *references // nil: text is taken as it is
	problems
}

// pos is where y stands. The lines of a --set argument are not those of the file.
func (r *reader) pos(y *yaml.Node) pos {
	if r.refs == nil {
		return pos{file: r.file}
	}
	return pos{r.file, y.Line}
}

func (r *reader) node(y *yaml.Node, path string, depth int) *node {
	n := &node{pos: r.pos(y)}
	switch {
	case depth > maxDepth:
		r.add(n.pos, "", "nested more than %d levels deep", maxDepth)
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		r.add(n.pos, path, "anchors and aliases are not read: write the value out")
	case y.Style&yaml.TaggedStyle != 0:
		r.add(n.pos, path, "tags such as %s are not read: the key decides the type", "!!str")
	case y.Kind == yaml.ScalarNode:
		r.scalar(n, y, path)
	case y.Kind == yaml.SequenceNode:
		n.kind = list
		for i, c := range y.Content {
			n.items = append(n.items, r.node(c, item(path, i), depth+1))
		}
	case y.Kind == yaml.MappingNode:
		n.kind = mapping
		r.mapping(n, y, path, depth)
	}
	return n
}

func (r *reader) scalar(n *node, y *yaml.Node, path string) {
	if y.Tag == "!!null" {
		return
	}
	n.kind, n.text = scalar, y.Value
	if r.refs == nil {
		return
	}
	var wrong []string
	n.text, n.vars, wrong = r.refs.resolve(y.Value)
	for _, w := range wrong {
		r.add(n.pos, path, "%s", w)
	}
}

func (r *reader) mapping(n *node, y *yaml.Node, path string, depth int) {
	first := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, at := y.Content[i], r.pos(y.Content[i])
		if !r.key(k, at, path) {
			continue
		}
		p := below(path, k.Value)
		if line, ok := first[k.Value]; ok {
			r.add(at, p, "given twice, the first time in line %d", line)
			continue
		}
		first[k.Value] = k.Line
		c := r.node(y.Content[i+1], p, depth+1)
		if c.kind != scalar {
			c.pos = at // a body begins with its name, not with its first key
		}
		n.entries = append(n.entries, entry{pos: at, key: k.Value, value: c})
	}
}

// key reports whether k is plain text that may name something.
func (r *reader) key(k *yaml.Node, at pos, path string) bool {
	switch {
	case k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0:
		r.add(at, path, "a key must be plain text")
	case k.Tag == "!!merge":
		r.add(at, path, "merge keys are not read: write the keys out")
	case k.Value == "" || k.Tag == "!!null":
		r.add(at, path, "an empty key: a name belongs before the colon")
	case r.refs.in(k.Value):
		r.add(at, path, "a key cannot hold a variable: its value would change the structure of the file")
	case strings.ContainsAny(k.Value, "\r\n"):
		r.add(at, path, "a key must be on one line")
	default:
		return true
	}
	return false
}
