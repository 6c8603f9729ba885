package failure

// Reasons why nothing is read for an event.
const (
	UnparsableEvent Reason = "unparsable_event" // refused: a dead letter of the intake
	Test            Reason = "test"             // says only that a notification was configured
	NotCreated      Reason = "not_created"      // of a deletion, a restore, a tag
	OtherBucket     Reason = "other_bucket"
	OutsidePrefix   Reason = "outside_prefix"
	Excluded        Reason = "excluded"
	Directory       Reason = "directory"
	Empty           Reason = "empty"
	Repeated        Reason = "repeated"      // a unit has this object version already
	Overwritten     Reason = "overwritten"   // another version replaced this one before anything was known of it
	BeforeCutoff    Reason = "before_cutoff" // a listed job reads the object
)
