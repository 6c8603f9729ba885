package pipe

import (
	"slices"

	"github.com/spate-go/spate/pkg/codec"
	"github.com/spate-go/spate/pkg/metric"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/record"
	"github.com/spate-go/spate/pkg/sink"
)

// metrics are resolved once. They count work, repeats included; the results of
// units are in the ledger.
type metrics struct {
	bytesRead, bytesDecoded, getRetries, mismatches *metric.Value
	records, bytes                                  *metric.Value
	undecoded, in, out, filtered, rejected          *metric.Value

	sinks []sinkMetrics
}

type sinkMetrics struct {
	records, bytes, flushes *metric.Value
	refused                 *metric.Value // nil if the sink refuses no rows
}

func newMetrics(c Config, limits []sink.Limits) metrics {
	r := c.Registry
	with := func(component, kind string, more ...metric.Label) []metric.Label {
		l := append(slices.Clone(c.Labels),
			metric.Label{Name: metric.LabelComponent, Value: component},
			metric.Label{Name: metric.LabelComponentType, Value: kind})
		return append(l, more...)
	}
	reason := func(v string) metric.Label { return metric.Label{Name: metric.LabelReason, Value: v} }
	source, chain := with("source", "s3"), with("chain", "chain")
	m := metrics{
		bytesRead:    r.Counter(metric.S3BytesRead, source...),
		bytesDecoded: r.Counter(metric.S3BytesDecoded, source...),
		getRetries:   r.Counter(metric.S3GetRetries, source...),
		mismatches:   r.Counter(metric.S3CodecMismatches, source...),
		records:      r.Counter(metric.SourceRecords, source...),
		bytes:        r.Counter(metric.SourceBytes, source...),
		undecoded:    r.Counter(metric.DeserRecordsDropped, with("decode", "decode", reason("undecodable"))...),
		in:           r.Counter(metric.OperatorRecordsIn, chain...),
		out:          r.Counter(metric.OperatorRecordsOut, chain...),
		filtered:     r.Counter(metric.OperatorRecordsDropped, with("chain", "chain", reason("filtered"))...),
		rejected:     r.Counter(metric.OperatorRecordsDropped, with("chain", "chain", reason("rejected"))...),
	}
	for i, s := range c.Sinks {
		l := with(s.Name, s.Type)
		own := sinkMetrics{
			records: r.Counter(metric.SinkRecords, l...),
			bytes:   r.Counter(metric.SinkBytes, l...),
			flushes: r.Counter(metric.SinkFlushes, l...),
		}
		if limits[i].Rejects {
			own.refused = r.Counter(metric.OperatorRecordsDropped, with(s.Name, s.Type, reason("sink_rejected"))...)
		}
		m.sinks = append(m.sinks, own)
	}
	return m
}

func (m *metrics) reader() object.Options {
	return object.Options{BytesRead: m.bytesRead, GetRetries: m.getRetries}
}

// codec counts an object whose name says another codec than its content.
func (m *metrics) codec(key string, c codec.Codec) {
	if codec.ByLabel(key) != c {
		m.mismatches.Add(1)
	}
}

// framed counts the bytes of frames that were dealt with.
func (m *metrics) framed(frames []record.Frame) {
	n := 0
	for i := range frames {
		n += frames[i].End - frames[i].Start
	}
	m.bytes.Add(int64(n))
}

// processed counts what became of a batch.
func (m *metrics) processed(before, after record.Counts, undecoded int64) {
	in := after.In - before.In
	m.records.Add(in)
	m.undecoded.Add(undecoded)
	m.in.Add(in - undecoded)
	m.out.Add(after.Out - before.Out)
	m.filtered.Add(after.Filtered - before.Filtered)
	m.rejected.Add(after.Rejected - before.Rejected - undecoded)
}

func (m *metrics) refused(sink, rows int) { m.sinks[sink].refused.Add(int64(rows)) }

func (m *metrics) wrote(sink, rows, bytes int) {
	s := &m.sinks[sink]
	s.records.Add(int64(rows))
	s.bytes.Add(int64(bytes))
	s.flushes.Add(1)
}
