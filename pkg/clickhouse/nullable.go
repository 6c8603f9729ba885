package clickhouse

// nullable puts a byte before a value.
type nullable struct{ of coder }

func (c nullable) text(dst, s []byte) ([]byte, error)   { return c.of.text(append(dst, 0), s) }
func (c nullable) number(dst, s []byte) ([]byte, error) { return c.of.number(append(dst, 0), s) }
func (c nullable) null(dst []byte) ([]byte, error)      { return c.zero(dst), nil }

func (c nullable) boolean(dst []byte, v bool) ([]byte, error) {
	return c.of.boolean(append(dst, 0), v)
}

func (c nullable) array(dst, raw []byte) ([]byte, error) { return c.of.array(append(dst, 0), raw) }

func (c nullable) object(dst, raw []byte) ([]byte, error) { return c.of.object(append(dst, 0), raw) }

func (nullable) zero(dst []byte) []byte { return append(dst, 1) }

func (c nullable) render(dst, b []byte) (out, rest []byte) {
	if b[0] == 1 {
		return append(dst, "null"...), b[1:]
	}
	return c.of.render(dst, b[1:])
}
