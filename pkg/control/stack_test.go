package control_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spate-go/spate/pkg/control"
)

func TestAStackIsReadFromOutputsAndEnvironment(t *testing.T) {
	named := func(key string) string { return "the " + key }
	for name, c := range map[string]struct{ got, want control.Stack }{
		"outputs": {control.Outputs(named), control.Stack{
			Table: "the JobTable", FeedURL: "the FeedQueueUrl", DeadLetterURL: "the DeadLetterQueueUrl", ReportURL: "the ReportUrl",
			Lister: "the ListerFunction", Finalizer: "the FinalizerFunction", Intake: "the IntakeFunction",
			IntakeARN: "the IntakeQueueArn", Rule: "the NotificationRule",
		}},
		"environment": {control.Environment(named), control.Stack{
			Table: "the JOB_TABLE", FeedURL: "the FEED_QUEUE_URL", DeadLetterURL: "the DEAD_LETTER_QUEUE_URL", ReportURL: "the REPORT_URL",
			Lister: "the LISTER_FUNCTION", Finalizer: "the FINALIZER_FUNCTION", Intake: "the INTAKE_FUNCTION",
			IntakeARN: "the INTAKE_QUEUE_ARN", Rule: "the NOTIFICATION_RULE",
		}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestWhatIsGivenComesBeforeWhatIsFound(t *testing.T) {
	found := control.Outputs(strings.ToLower)
	if got := (control.Stack{}).Or(found); got != found {
		t.Errorf("of nothing given: %+v", got)
	}
	fields := reflect.TypeOf(found).NumField()
	for i := range fields {
		var given control.Stack
		reflect.ValueOf(&given).Elem().Field(i).SetString("mine")
		got := given.Or(found)
		for j := range fields {
			want := reflect.ValueOf(found).Field(j).String()
			if i == j {
				want = "mine"
			}
			if v := reflect.ValueOf(got).Field(j).String(); v != want {
				t.Errorf("field %d given: field %d is %q", i, j, v)
			}
		}
	}
}
