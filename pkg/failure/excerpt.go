package failure

import "strings"

// Excerpt is what an error shows of a text that is not ours, and so may be long
// and whatever else: all of it, or so many bytes and a mark that more follows,
// without half a character.
func Excerpt(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
