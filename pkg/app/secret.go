package app

// Secret is text that is used and never shown: wherever a configuration is
// printed, logged or digested, it is left out.
type Secret string

// String hides it from fmt.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(secret)"
}

// GoString hides it from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides it from encoders, so that a digest of the configuration is
// the same after it changed.
func (s Secret) MarshalText() ([]byte, error) { return nil, nil }
