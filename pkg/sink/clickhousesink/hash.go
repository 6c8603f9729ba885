package clickhousesink

import (
	"encoding/binary"
	"math/bits"
)

// widen is an integer as an unsigned one of 64 bits.
func widen(b []byte, signed bool) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	if signed && len(b) < 8 {
		shift := 64 - 8*len(b)
		v = uint64(int64(v<<shift) >> shift)
	}
	return v
}

// intHash32 is Wang's hash of 64 bits to 32, under a salt.
func intHash32(x uint64) uint32 {
	x ^= 0x75d9543de018bf45
	x = ^x + x<<18
	x ^= bits.RotateLeft64(x, -31)
	x *= 21
	x ^= bits.RotateLeft64(x, -11)
	x += x << 6
	return uint32(x ^ bits.RotateLeft64(x, -22))
}

// intHash64 is MurmurHash's finalizer, of a value that 0 does not map to 0 for.
func intHash64(x uint64) uint64 {
	x ^= 0x4cf2d2baae6da887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// cityPair is CityHash's hash of 128 bits to 64. The server combines those of
// xxHash64 by it as well.
func cityPair(low, high uint64) uint64 {
	const mul = 0x9ddfea08eb382d69
	a := (low ^ high) * mul
	a ^= a >> 47
	b := (high ^ a) * mul
	return (b ^ b>>47) * mul
}

// sipPair is the hash of two numbers, one after the other.
func sipPair(first, second uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], first)
	binary.LittleEndian.PutUint64(b[8:], second)
	return sipHash64(b[:])
}

// sipHash64 is SipHash-2-4 under the key of zeros.
func sipHash64(b []byte) uint64 {
	v := [4]uint64{0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v[3] ^= m
		sipRounds(&v, 2)
		v[0] ^= m
	}
	last |= widen(b, false)
	v[3] ^= last
	sipRounds(&v, 2)
	v[0] ^= last
	v[2] ^= 0xff
	sipRounds(&v, 4)
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}

func sipRounds(v *[4]uint64, n int) {
	for range n {
		v[0] += v[1]
		v[1] = bits.RotateLeft64(v[1], 13) ^ v[0]
		v[0] = bits.RotateLeft64(v[0], 32)
		v[2] += v[3]
		v[3] = bits.RotateLeft64(v[3], 16) ^ v[2]
		v[0] += v[3]
		v[3] = bits.RotateLeft64(v[3], 21) ^ v[0]
		v[2] += v[1]
		v[1] = bits.RotateLeft64(v[1], 17) ^ v[2]
		v[2] = bits.RotateLeft64(v[2], 32)
	}
}
