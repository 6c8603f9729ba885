package sink

// Parts cuts the rows of a block so that each part keeps the limits, and yields
// the parts in order, as blocks of which Part, Rows, Data, Ends and Base are
// set. ends are the rows' ends in data, as a chain gives them. Whatever is over
// a limit is halved by row count, the longer half first, so that the cuts depend
// on the rows and the limits alone (INV-3).
//
// A row larger than the byte limit becomes a part by itself: whether to refuse
// it is for the sink to say, which knows whether its limit is hard. No rows
// yield nothing. An error of yield ends Parts and is returned unchanged.
func Parts(data []byte, ends []int, l Limits, yield func(b Block) error) error {
	part := 0
	var halve func(start int, ends []int) error
	halve = func(start int, ends []int) error {
		n := len(ends)
		end := ends[n-1]
		if n == 1 || l.fit(n, int64(end-start)) {
			part++
			return yield(Block{Part: part - 1, Rows: n, Data: data[start:end:end], Ends: ends[:n:n], Base: start})
		}
		half := (n + 1) / 2
		if err := halve(start, ends[:half]); err != nil {
			return err
		}
		return halve(ends[half-1], ends[half:])
	}
	if len(ends) == 0 {
		return nil
	}
	return halve(0, ends)
}

func (l Limits) fit(rows int, bytes int64) bool {
	return (l.Rows <= 0 || rows <= l.Rows) && (l.Bytes <= 0 || bytes <= l.Bytes)
}
