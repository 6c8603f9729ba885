package sink

import "github.com/spate-go/spate/pkg/unit"

// Block is one sink's rows of one segment of a unit, or of as many as the sink
// joins, or a numbered part of them: one write, one token.
type Block struct {
	Unit    unit.ID
	Series  int // 0 for the first reading, ordinal+1 for a faulty member's
	Segment int // within the series; of joined ones the first
	Part    int // within the segment
	// Token names the block and its bytes: the same rows of the same stretch
	// have the same token in every attempt.
	Token string
	Rows  int
	Data  []byte // encoded rows, uncompressed
	// Ends are the ends of the rows, offset by Base: row i ends at
	// Data[Ends[i]-Base]. They are a view of what the block was cut from. A
	// block made by hand may lack them, and then Row and Span cannot be used.
	Ends []int
	Base int
}

// Row is row i as it was encoded, a view of Data.
func (b *Block) Row(i int) []byte { return b.Span(i, i+1) }

// Span is the rows [i, j), a view of Data. Appending to it does not write to
// Data.
func (b *Block) Span(i, j int) []byte {
	start, end := 0, 0
	if i > 0 {
		start = b.Ends[i-1] - b.Base
	}
	if j > 0 {
		end = b.Ends[j-1] - b.Base
	}
	return b.Data[start:end:end]
}
