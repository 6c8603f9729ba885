package jsontext

import "unicode/utf8"

// AppendQuoted appends text as a JSON string. What is not UTF-8 becomes U+FFFD;
// only what must be escaped is.
func AppendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			// At most four bytes make a rune: the conversion does not allocate.
			r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, text[done:i]...), "\uFFFD"...)
				done = i + 1
			}
			i += n
			continue
		}
		dst = appendControl(append(dst, text[done:i]...), c)
		i++
		done = i
	}
	return append(append(dst, text[done:]...), '"')
}

// appendControl escapes a byte that cannot stand in a string.
func appendControl(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
