package chain

// EncodeEach is Encode with an encoder for each sink, in their order: every
// sink is given every row, in its own form.
func EncodeEach[T any](s Stream[T], onError Policy, encs ...func(dst []byte, v *T) ([]byte, error)) Constructor {
	return func() Worker {
		w := &worker{onFailed: onError}
		w.push = s.compose(w, func(v *T) error {
			for i := range w.out.Sinks {
				if err := appendRow(&w.out.Sinks[i], encs[i], v); err != nil {
					return err
				}
			}
			w.rows++
			return nil
		})
		return w
	}
}
