package failure

import "strings"

// Excerpt shortens a text that is not ours for an error: to so many bytes,
// without half a character, and a mark that more follows.
func Excerpt(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
