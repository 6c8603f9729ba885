package chain

// EncodeEach is Encode with one encoder per sink, in the order of the sinks:
// every sink gets every row, in its own encoding.
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
