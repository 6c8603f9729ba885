package clickhouse

// readIPv4 and readIPv6 read what netip.ParseAddr reads, except zones, without
// its string for each address.

func readIPv4(s []byte) (b [4]byte, ok bool) {
	for i := range b {
		n := 0
		for n < len(s) && n < 3 && s[n]-'0' <= 9 {
			n++
		}
		if n == 0 || n > 1 && s[0] == '0' {
			return b, false
		}
		v, _, _ := small(s[:n])
		if s = s[n:]; v > 255 {
			return b, false
		}
		if b[i] = byte(v); i == 3 {
			break
		}
		if len(s) == 0 || s[0] != '.' {
			return b, false
		}
		s = s[1:]
	}
	return b, len(s) == 0
}

func readIPv6(s []byte) (b [16]byte, ok bool) {
	n, gap := 0, -1 // bytes read, and how many before the ::
	if len(s) > 1 && s[0] == ':' && s[1] == ':' {
		if s, gap = s[2:], 0; len(s) == 0 {
			return b, true
		}
	}
	for {
		v, size := readHex(s)
		if size == 0 || n == len(b) {
			return b, false
		}
		if size < len(s) && s[size] == '.' {
			v4, is4 := readIPv4(s)
			if !is4 || n > 12 {
				return b, false
			}
			n += copy(b[n:], v4[:])
			break
		}
		b[n], b[n+1] = byte(v>>8), byte(v)
		n += 2
		if s = s[size:]; len(s) == 0 {
			break
		}
		if s[0] != ':' || len(s) == 1 {
			return b, false
		}
		if s = s[1:]; s[0] == ':' {
			if gap >= 0 {
				return b, false
			}
			if gap, s = n, s[1:]; len(s) == 0 {
				break
			}
		}
	}
	if gap < 0 {
		return b, n == len(b)
	}
	copy(b[len(b)-(n-gap):], b[gap:n])
	clear(b[gap : len(b)-(n-gap)])
	return b, n < len(b)
}

// readHex reads up to four hex digits.
func readHex(s []byte) (v uint32, n int) {
	for n < len(s) && n < 4 {
		c := s[n]
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return v, n
		}
		v = v<<4 | uint32(c)
		n++
	}
	return v, n
}
