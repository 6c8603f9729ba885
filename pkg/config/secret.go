package config

import (
	"fmt"
	"io"
	"log/slog"
)

// mask is what stands for a value that must not be seen.
const mask = "***"

// Secret is a text that does not print: not by fmt under any verb, not in JSON,
// YAML or a log. It is no string type, for fmt shows the value of one where it
// cannot call its methods, as in an unexported field.
type Secret struct{ value *string }

// NewSecret keeps s.
func NewSecret(s string) Secret { return Secret{value: &s} }

// Reveal returns the text itself.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no text, or an empty one.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

func (s Secret) String() string { return mask }

// GoString is what %#v shows.
func (s Secret) GoString() string { return mask }

// Format shows the same under every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// LogValue is what slog shows.
func (s Secret) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// MarshalText hides the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// MarshalYAML hides the text.
func (s Secret) MarshalYAML() (any, error) { return mask, nil }

func (s *Secret) decodeFrom(d *decoder, n *node, path string) {
	if n.kind != Null && d.expect(n, Scalar, path) {
		*s = NewSecret(n.text)
	}
}
