package config

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as 64MiB, 10MB, 1.5GiB or plainly in bytes.
// MiB is 1,048,576 bytes and MB is 1,000,000; M alone is refused, since people
// mean either. Messages of any package show bytes as a Size.
type Size int64

// String writes the size in the largest binary unit that keeps it exact, as
// UnmarshalText reads it.
func (s Size) String() string {
	units := []string{"TiB", "GiB", "MiB", "KiB"}
	for i, u := range units {
		if shift := 10 * (len(units) - i); s != 0 && s%(1<<shift) == 0 {
			return strconv.FormatInt(int64(s)>>shift, 10) + u
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = parseSize(string(text))
	return err
}

const errNotSize = wrong("is not a size: write 64MiB, 10MB, 1.5GiB or a number of bytes")

func parseSize(s string) (Size, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	factor, err := unitBytes(s[len(number):])
	if err != nil {
		return 0, err
	}
	number = strings.TrimSuffix(number, " ")
	// Checked by hand: Rat would also read fractions, and exponents without bound.
	if number == "" || len(number) > 32 || strings.Trim(number, "0123456789.") != "" {
		return 0, errNotSize
	}
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, errNotSize
	}
	n.Mul(n, new(big.Rat).SetInt64(factor))
	switch {
	case !n.IsInt():
		return 0, wrong("is not a whole number of bytes")
	case !n.Num().IsInt64():
		return 0, wrong("is more than 8EiB, the largest size there is")
	}
	return Size(n.Num().Int64()), nil
}

func unitBytes(unit string) (int64, error) {
	switch strings.ToLower(unit) {
	case "", "b":
		return 1, nil
	case "kb":
		return 1e3, nil
	case "mb":
		return 1e6, nil
	case "gb":
		return 1e9, nil
	case "tb":
		return 1e12, nil
	case "kib":
		return 1 << 10, nil
	case "mib":
		return 1 << 20, nil
	case "gib":
		return 1 << 30, nil
	case "tib":
		return 1 << 40, nil
	case "k", "m", "g", "t":
		u := strings.ToUpper(unit)
		return 0, wrong(fmt.Sprintf("could mean two sizes: write %siB (powers of 1024) or %sB (powers of 1000)", u, u))
	}
	return 0, errNotSize
}
