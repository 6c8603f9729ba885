package control

import "cmp"

// Stack says where the parts of a deployed stack are that commands ask. "" is
// what is not known.
type Stack struct {
	Table         string // of the ledger
	FeedURL       string // of the feed's queue
	DeadLetterURL string // of the feed's dead-letter queue
	ReportURL     string // s3://bucket/prefix/
	Lister        string // function, by name or ARN
	Finalizer     string
}

// Or fills in from other what s leaves open.
func (s Stack) Or(other Stack) Stack {
	return Stack{
		Table:         cmp.Or(s.Table, other.Table),
		FeedURL:       cmp.Or(s.FeedURL, other.FeedURL),
		DeadLetterURL: cmp.Or(s.DeadLetterURL, other.DeadLetterURL),
		ReportURL:     cmp.Or(s.ReportURL, other.ReportURL),
		Lister:        cmp.Or(s.Lister, other.Lister),
		Finalizer:     cmp.Or(s.Finalizer, other.Finalizer),
	}
}

// Outputs reads a stack from the outputs of its template.
func Outputs(value func(key string) string) Stack {
	return Stack{
		Table:         value("JobTable"),
		FeedURL:       value("FeedQueueUrl"),
		DeadLetterURL: value("DeadLetterQueueUrl"),
		ReportURL:     value("ReportUrl"),
		Lister:        value("ListerFunction"),
		Finalizer:     value("FinalizerFunction"),
	}
}

// Environment reads a stack from the variables that its functions have.
func Environment(value func(name string) string) Stack {
	return Stack{
		Table:         value("JOB_TABLE"),
		FeedURL:       value("FEED_QUEUE_URL"),
		DeadLetterURL: value("DEAD_LETTER_QUEUE_URL"),
		ReportURL:     value("REPORT_URL"),
		Lister:        value("LISTER_FUNCTION"),
		Finalizer:     value("FINALIZER_FUNCTION"),
	}
}
