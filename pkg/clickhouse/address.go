package clickhouse

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
)

// uuid is UUID: two words, each the lowest byte first.
type uuid struct{ refuses }

var errUUID = errors.New("it is not a UUID: want 01234567-89ab-cdef-0123-456789abcdef")

func (uuid) text(dst, s []byte) ([]byte, error) {
	var compact [32]byte
	switch {
	case len(s) == 32:
		copy(compact[:], s)
	case len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-':
		n := copy(compact[:], s[:8])
		n += copy(compact[n:], s[9:13])
		n += copy(compact[n:], s[14:18])
		n += copy(compact[n:], s[19:23])
		copy(compact[n:], s[24:])
	default:
		return dst, errUUID
	}
	var id [16]byte
	if _, err := hex.Decode(id[:], compact[:]); err != nil {
		return dst, errUUID
	}
	return appendUUID(dst, id), nil
}

func appendUUID(dst []byte, id [16]byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, binary.BigEndian.Uint64(id[:8]))
	return binary.LittleEndian.AppendUint64(dst, binary.BigEndian.Uint64(id[8:]))
}

func (uuid) zero(dst []byte) []byte { return appendZeros(dst, 16) }

func (uuid) render(dst, b []byte) (out, rest []byte) {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], binary.LittleEndian.Uint64(b))
	binary.BigEndian.PutUint64(id[8:], binary.LittleEndian.Uint64(b[8:]))
	dst = append(dst, '"')
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, []byte{c})
	}
	return append(dst, '"'), b[16:]
}

// ipv4 is IPv4, the lowest byte first.
type ipv4 struct{ refuses }

var (
	errIPv4 = errors.New("it is not an IPv4 address")
	errIPv6 = errors.New("it is not an IPv6 address")
)

func (c ipv4) text(dst, s []byte) ([]byte, error) {
	if b, ok := readIPv4(s); ok {
		return append(dst, b[3], b[2], b[1], b[0]), nil
	}
	b, ok := readIPv6(s)
	if !ok {
		return dst, errIPv4
	}
	return c.append(dst, netip.AddrFrom16(b))
}

func (ipv4) append(dst []byte, a netip.Addr) ([]byte, error) {
	if a = a.Unmap(); !a.Is4() {
		return dst, errIPv4
	}
	b := a.As4()
	return append(dst, b[3], b[2], b[1], b[0]), nil
}

func (ipv4) zero(dst []byte) []byte { return appendZeros(dst, 4) }

func (ipv4) render(dst, b []byte) (out, rest []byte) {
	a := netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]})
	return append(a.AppendTo(append(dst, '"')), '"'), b[4:]
}

// ipv6 is IPv6; an IPv4 address is the one that is mapped to it.
type ipv6 struct{ refuses }

func (c ipv6) text(dst, s []byte) ([]byte, error) {
	b, ok := readIPv6(s)
	if !ok {
		v4, is4 := readIPv4(s)
		if !is4 {
			return dst, errIPv6
		}
		b = [16]byte{10: 0xFF, 11: 0xFF, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]}
	}
	return append(dst, b[:]...), nil
}

func (ipv6) append(dst []byte, a netip.Addr) ([]byte, error) {
	if !a.IsValid() || a.Zone() != "" {
		return dst, errIPv6
	}
	b := a.As16()
	return append(dst, b[:]...), nil
}

func (ipv6) zero(dst []byte) []byte { return appendZeros(dst, 16) }

func (ipv6) render(dst, b []byte) (out, rest []byte) {
	a := netip.AddrFrom16([16]byte(b[:16]))
	return append(a.AppendTo(append(dst, '"')), '"'), b[16:]
}
