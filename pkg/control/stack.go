package control

import "cmp"

// Stack says where the parts of a deployed stack are. "" is a part that is not
// known.
type Stack struct {
	Table         string // of the ledger
	FeedURL       string // of the feed's queue
	DeadLetterURL string // of the feed's dead-letter queue
	ReportURL     string // s3://bucket/prefix/
	Lister        string // function, by name or ARN
	Finalizer     string
	Intake        string
	IntakeARN     string // of the queue that buckets notify
	Rule          string // EventBridge rule that leads to that queue
}

// Or returns s with its empty fields filled from other.
func (s Stack) Or(other Stack) Stack {
	return Stack{
		Table:         cmp.Or(s.Table, other.Table),
		FeedURL:       cmp.Or(s.FeedURL, other.FeedURL),
		DeadLetterURL: cmp.Or(s.DeadLetterURL, other.DeadLetterURL),
		ReportURL:     cmp.Or(s.ReportURL, other.ReportURL),
		Lister:        cmp.Or(s.Lister, other.Lister),
		Finalizer:     cmp.Or(s.Finalizer, other.Finalizer),
		Intake:        cmp.Or(s.Intake, other.Intake),
		IntakeARN:     cmp.Or(s.IntakeARN, other.IntakeARN),
		Rule:          cmp.Or(s.Rule, other.Rule),
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
		Intake:        value("IntakeFunction"),
		IntakeARN:     value("IntakeQueueArn"),
		Rule:          value("NotificationRule"),
	}
}

// Environment reads a stack from the environment variables of its functions.
func Environment(value func(name string) string) Stack {
	return Stack{
		Table:         value("JOB_TABLE"),
		FeedURL:       value("FEED_QUEUE_URL"),
		DeadLetterURL: value("DEAD_LETTER_QUEUE_URL"),
		ReportURL:     value("REPORT_URL"),
		Lister:        value("LISTER_FUNCTION"),
		Finalizer:     value("FINALIZER_FUNCTION"),
		Intake:        value("INTAKE_FUNCTION"),
		IntakeARN:     value("INTAKE_QUEUE_ARN"),
		Rule:          value("NOTIFICATION_RULE"),
	}
}
