package chain

// Route leads values to one of the sinks.
type Route[T any] struct {
	// Sink is the number of the sink in Output.Sinks.
	Sink int
	// When says which values the route takes. Nil takes all.
	When func(c *Context, v *T) (bool, error)
	// Encode appends the row of v, delimiter included, to dst, as for the
	// function of that name.
	Encode func(dst []byte, v *T) ([]byte, error)
}

// SplitOptions tune Split. The zero value is ready.
type SplitOptions struct {
	// OnError is for records that an operator, a route's condition or its
	// encoder refuses, or that make one panic. 0 skips them.
	OnError Policy
	// Unmatched is for values that no route takes: 0, Skip, counts them as
	// filtered; Fail makes each an error of its record, to which OnError
	// applies.
	Unmatched Policy
}

// Split ends a chain with several sinks: the first of routes that takes a value
// decides where its row goes, and no other sink gets it. A row counts once in
// Counts.Out, as with Encode.
func Split[T any](s Stream[T], o SplitOptions, routes ...Route[T]) Constructor {
	return func() Worker {
		w := &worker{onFailed: o.OnError, routed: true}
		w.push = s.compose(w, func(v *T) error {
			for i := range routes {
				r := &routes[i]
				if r.When != nil {
					if ok, err := r.When(&w.ctx, v); err != nil {
						return err
					} else if !ok {
						continue
					}
				}
				if err := appendRow(&w.out.Sinks[r.Sink], r.Encode, v); err != nil {
					return err
				}
				w.rows++
				return nil
			}
			if o.Unmatched == Fail {
				return errUnmatched
			}
			w.dropped++
			return nil
		})
		return w
	}
}
