package schema

import (
	"fmt"
	"strings"

	"github.com/spate-go/spate/pkg/config"
)

// Markdown writes a table for each key at the top, with all keys below it. What
// is behind names or in lists and came before is named by where it came.
func Markdown(t config.Type, notes Notes) string {
	var b strings.Builder
	skip := ""
	first := map[string]string{}
	walk(t, func(v visit) {
		if skip != "" && strings.HasPrefix(v.path, skip) {
			return
		}
		skip = ""
		n := notes[v.at]
		as := ""
		if elem := v.key.Type.Elem; elem != nil && elem.Kind == config.Section && first[elem.Name] != "" {
			as = fmt.Sprintf(" Each as `%s`.", first[elem.Name])
			skip = v.path
		} else if v.key.Type.Kind == config.Section && first[v.key.Type.Name] == "" {
			first[v.key.Type.Name] = v.path
		}
		if !strings.Contains(v.path, ".") {
			fmt.Fprintf(&b, "\n### %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", v.path)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.path, kind(v.key), standing(v.key, n), meaning(v.key, n)+as)
	})
	return b.String()
}

func kind(k config.Key) string {
	if k.OneOf != nil {
		return "`" + strings.Join(k.OneOf, "`, `") + "`"
	}
	return kindOf(k.Type)
}

func kindOf(t config.Type) string {
	switch t.Kind {
	case config.List:
		return "list of " + kindOf(*t.Elem) + "s"
	case config.Named:
		return "map of names to " + kindOf(*t.Elem) + "s"
	}
	return string(t.Kind)
}

func standing(k config.Key, n Note) string {
	switch {
	case k.Required || n.Required:
		return "required"
	case n.Default != "":
		return n.Default
	}
	return ""
}

func meaning(k config.Key, n Note) string {
	text := strings.ReplaceAll(n.Meaning, "|", `\|`)
	if len(n.OneOf) > 0 {
		text += " Exactly one of `" + strings.Join(n.OneOf, "`, `") + "`."
	}
	if k.Example != "" {
		text += " For example `" + k.Example + "`."
	}
	return text
}
