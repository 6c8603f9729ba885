package template_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Logical ids that the Makefile, the commands and these rules know.
const (
	lister    = "ListerFunction"
	intake    = "IntakeFunction"
	reader    = "ReaderFunction"
	finalizer = "FinalizerFunction"
)

func functions() []string { return []string{lister, intake, reader, finalizer} }

func number(v value) float64 {
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		return -1 // below every bound that is asked for
	}
	return n
}

// problems collects what is wrong.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// unless adds what is wrong where ok does not hold.
func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		p.add(format, args...)
	}
}

// plain: no macro but SAM's, and no YAML that CloudFormation refuses.
func plain(tpl *template) []string {
	var p problems
	p.unless(tpl.doc.at("Transform").text == "AWS::Serverless-2016-10-31", "Transform is not SAM's alone")
	var walk func(path string, v value)
	walk = func(path string, v value) {
		for _, k := range v.keys() {
			p.unless(k != anchored, "%s: CloudFormation reads no anchors and aliases", path)
			walk(path+"."+k, v.fields[k])
		}
		for i, v := range v.list {
			walk(fmt.Sprintf("%s[%d]", path, i), v)
		}
	}
	walk("template", tpl.doc)
	return p
}

// allows reports whether a parameter may have a value.
func allows(parameter value, v string) bool {
	if list := parameter.at("AllowedValues").texts(); list != nil && !slices.Contains(list, v) {
		return false
	}
	if pattern := parameter.at("AllowedPattern").text; pattern != "" && !regexp.MustCompile("^(?:"+pattern+")$").MatchString(v) {
		return false
	}
	for bound, sign := range map[string]float64{"MinValue": 1, "MaxValue": -1} {
		if b := parameter.at(bound); !b.zero() && sign*(number(value{text: v})-number(b)) < 0 {
			return false
		}
	}
	return true
}

// parametersAreSane: all but the bucket may be left out, and each says what it is.
func parametersAreSane(tpl *template) []string {
	var p problems
	grouped := map[string]bool{}
	for _, g := range tpl.doc.at("Metadata", "AWS::CloudFormation::Interface", "ParameterGroups").list {
		for _, name := range g.at("Parameters").texts() {
			grouped[name] = true
		}
	}
	for name, parameter := range tpl.doc.at("Parameters").fields {
		_, has := parameter.fields["Default"]
		p.unless(has || name == "SourceBucket", "%s has no default", name)
		p.unless(!has || allows(parameter, parameter.at("Default").text), "%s does not allow its default", name)
		p.unless(!parameter.at("Description").zero(), "%s has no description", name)
		p.unless(grouped[name], "%s is in no group", name)
		bounded := !parameter.at("AllowedValues").zero() || !parameter.at("AllowedPattern").zero() || !parameter.at("MaxValue").zero()
		p.unless(bounded, "%s takes anything", name)
	}
	return p
}

var override = regexp.MustCompile(`(\w+)=("[^"]*"|\S+)`)

// configFits: the tables of samconfig.toml set parameters that there are, to
// values that they allow.
func configFits(tpl *template) []string {
	var p problems
	text, err := os.ReadFile(root + "samconfig.toml")
	if err != nil {
		return []string{err.Error()}
	}
	for _, table := range []string{"dev", "prod"} {
		p.unless(strings.Contains(string(text), "["+table+".deploy.parameters]"), "samconfig.toml has no table %s", table)
	}
	for line := range strings.Lines(string(text)) {
		list, ok := strings.CutPrefix(line, "parameter_overrides = ")
		if !ok {
			continue
		}
		for _, m := range override.FindAllStringSubmatch(strings.Trim(strings.TrimSpace(list), `"`), -1) {
			parameter := tpl.doc.at("Parameters", m[1])
			p.unless(!parameter.zero() && allows(parameter, strings.Trim(m[2], `"`)), "samconfig.toml: %s cannot be %s", m[1], m[2])
		}
	}
	return p
}

// mapping is the reader's subscription of the feed.
func mapping(tpl *template) value {
	return tpl.function(reader).at("Properties", "Events", "Feed", "Properties")
}

// notifications is the intake's subscription of what buckets say.
func notifications(tpl *template) value {
	return tpl.function(intake).at("Properties", "Events", "Notifications", "Properties")
}

// windows: whatever the batching window, the intake is called with batches that
// Lambda allows, and its messages stay hidden while it gathers and handles them.
func windows(tpl *template) []string {
	var p problems
	for _, window := range tpl.doc.at("Parameters", "BatchingWindow", "AllowedValues").texts() {
		with := tpl.with("BatchingWindow", window)
		m, w := notifications(with), number(value{text: window})
		size := number(m.at("BatchSize"))
		p.unless(m.at("MaximumBatchingWindowInSeconds").text == window && w >= 0 && w <= 300, "BatchingWindow %s: the intake's is %q", window, m.at("MaximumBatchingWindowInSeconds").text)
		p.unless(size >= 1 && (size <= 10 || w >= 1 && size <= 10_000), "BatchingWindow %s: Lambda takes no batches of %v", window, size)
		hidden := number(with.resources("")["IntakeQueue"].at("Properties", "VisibilityTimeout"))
		t := number(with.function(intake).at("Properties", "Timeout"))
		p.unless(t >= 30 && hidden >= 1.5*t+w, "BatchingWindow %s: %v seconds hidden do not cover %v and the window", window, hidden, t)
	}
	m := notifications(tpl)
	p.unless(m.at("Queue").text == "IntakeQueue.Arn", "the intake does not read its queue")
	p.unless(slices.Equal(m.at("FunctionResponseTypes").texts(), []string{"ReportBatchItemFailures"}), "a notification that failed counts as done without ReportBatchItemFailures")
	return p
}

// notified: the bucket of the stack and the rule tell the intake of the source,
// and may.
func notified(tpl *template) []string {
	var p problems
	const topic = "arn:aws:sns:eu-west-1:1:topic"
	tpl = tpl.with("SourceBucket", "logs", "SourcePrefix", "in/", "CreateSourceBucket", "true", "NotificationTopicArn", topic)
	all := tpl.resources("")
	own := all["OwnSourceBucket"]
	p.unless(own.at("Properties", "BucketName").text == "logs", "the bucket that is made is not the source")
	p.unless(slices.Contains(own.at("DependsOn").texts(), "IntakePolicy") || own.at("DependsOn").text == "IntakePolicy", "S3 may not send yet when the bucket is made")
	for _, c := range own.at("Properties", "NotificationConfiguration", "QueueConfigurations").list {
		p.unless(c.at("Queue").text == "IntakeQueue.Arn" && c.at("Event").text == "s3:ObjectCreated:*", "the bucket tells others, or of something else")
	}
	p.unless(len(own.at("Properties", "NotificationConfiguration", "QueueConfigurations").list) == 1, "the bucket tells nobody")
	rule := all["NotificationRule"].at("Properties")
	p.unless(rule.at("State").text == "DISABLED", "the rule is on before anybody asked")
	p.unless(slices.Equal(rule.at("EventPattern", "detail", "bucket", "name").texts(), []string{"logs"}), "the rule is of another bucket")
	p.unless(len(rule.at("Targets").list) == 1 && rule.at("Targets").list[0].at("Arn").text == "IntakeQueue.Arn", "the rule does not tell the intake")
	p.unless(all["TopicSubscription"].at("Properties", "Endpoint").text == "IntakeQueue.Arn" && all["TopicSubscription"].at("Properties", "TopicArn").text == topic, "the topic does not tell the intake")
	want := map[string]string{
		"s3.amazonaws.com": "arn:${AWS::Partition}:s3:::logs", "events.amazonaws.com": arn("events", "rule/"+rule.at("Name").text), "sns.amazonaws.com": topic,
	}
	for _, s := range statements(tpl, "AWS::SQS::QueuePolicy", "Queues")["IntakeQueue"] {
		if who := s.at("Principal", "Service").text; who != "" && s.at("Action").text == "sqs:SendMessage" && s.at("Resource").text == "IntakeQueue.Arn" {
			p.unless(s.at("Condition", "ArnEquals", "aws:SourceArn").text == want[who], "%s may send for %q", who, s.at("Condition", "ArnEquals", "aws:SourceArn").text)
			delete(want, who)
		}
	}
	for who := range want {
		p.add("%s may not tell the intake", who)
	}
	return p
}

// visibilityCovers: Lambda refuses a mapping whose queue shows a message again
// before the function's time is over. A fifth more leaves room for the call.
func visibilityCovers(tpl *template) []string {
	var p problems
	for _, timeout := range tpl.doc.at("Parameters", "ReaderTimeout", "AllowedValues").texts() {
		with := tpl.with("ReaderTimeout", timeout)
		t := number(with.function(reader).at("Properties", "Timeout"))
		v := number(with.resources("")["FeedQueue"].at("Properties", "VisibilityTimeout"))
		p.unless(t >= 20, "ReaderTimeout %s: %v seconds leave no time before the reserve", timeout, t)
		p.unless(t <= 900, "ReaderTimeout %s: Lambda ends a function after 900 seconds", timeout)
		p.unless(v >= 1.2*t && v <= 43200, "ReaderTimeout %s: visibility %v does not cover %v seconds", timeout, v, t)
	}
	return p
}

func oneUnit(tpl *template) []string {
	var p problems
	m := mapping(tpl)
	p.unless(m.at("Queue").text == "FeedQueue.Arn", "the reader does not read the feed")
	p.unless(m.at("BatchSize").text == "1", "BatchSize is not 1")
	p.unless(m.at("MaximumBatchingWindowInSeconds").zero(), "a window delays what cannot be batched")
	p.unless(slices.Equal(m.at("FunctionResponseTypes").texts(), []string{"ReportBatchItemFailures"}), "a failed unit counts as done without ReportBatchItemFailures")
	return p
}

func concurrencyInRange(tpl *template) []string {
	var p problems
	for name, of := range map[string]func(*template) value{"MaximumConcurrency": mapping, "IntakeConcurrency": notifications} {
		limit := tpl.doc.at("Parameters", name)
		p.unless(number(limit.at("MinValue")) >= 2 && number(limit.at("MaxValue")) >= 2 && number(limit.at("MaxValue")) <= 1000,
			"%s takes what Lambda refuses: it is 2 to 1000", name)
		got := of(tpl.with(name, "77")).at("ScalingConfig", "MaximumConcurrency").text
		p.unless(got == "77", "%s does not reach its function: %q", name, got)
	}
	return p
}

// deadLettersOutlive: a message keeps the time that it entered the feed.
func deadLettersOutlive(tpl *template) []string {
	var p problems
	all := tpl.resources("")
	for queue, letters := range map[string]string{"FeedQueue": "DeadLetterQueue", "IntakeQueue": "IntakeDeadLetterQueue"} {
		q, dead := all[queue].at("Properties"), all[letters].at("Properties")
		p.unless(number(q.at("MessageRetentionPeriod")) >= 4*24*3600, "%s forgets within four days", queue)
		p.unless(number(dead.at("MessageRetentionPeriod")) >= 10*24*3600+number(q.at("MessageRetentionPeriod")), "%s does not keep ten days longer", letters)
		p.unless(q.at("RedrivePolicy", "deadLetterTargetArn").text == letters+".Arn", "%s has no dead letters", queue)
		p.unless(number(q.at("RedrivePolicy", "maxReceiveCount")) >= 2, "%s gives up at the first failure", queue)
		allow := dead.at("RedriveAllowPolicy")
		p.unless(allow.at("redrivePermission").text == "byQueue" && slices.Equal(allow.at("sourceQueueArns").texts(), []string{arn("sqs", q.at("QueueName").text)}),
			"what is in %s may come from other queues", letters)
	}
	with := tpl.with("MaxReceives", "7")
	redrive := with.resources("")["FeedQueue"].at("Properties", "RedrivePolicy", "maxReceiveCount").text
	p.unless(redrive == "7", "MaxReceives does not reach the feed: %q", redrive)
	// Each failed delivery costs an invocation, and the first ones may meet a store
	// that is busy.
	p.unless(tpl.parameters["MaxReceives"] == "5", "a unit is given up after %s deliveries unless the stack says otherwise", tpl.parameters["MaxReceives"])
	return p
}

// arn is that of what the template itself names.
func arn(service, name string) string {
	return "arn:${AWS::Partition}:" + service + ":${AWS::Region}:${AWS::AccountId}:" + name
}

func dashboardIsJSON(tpl *template) []string {
	var p problems
	for name, d := range tpl.resources("AWS::CloudWatch::Dashboard") {
		body := d.at("Properties", "DashboardBody").text
		p.unless(json.Valid([]byte(body)), "%s: its body is not JSON", name)
		p.unless(!strings.Contains(body, "(no resource"), "%s shows what is not there", name)
	}
	return p
}

func outputsFit(tpl *template) []string {
	var p problems
	want := map[string]string{
		"FeedQueueUrl": "FeedQueue", "DeadLetterQueueUrl": "DeadLetterQueue", "JobTable": "JobTable",
		"IntakeQueueUrl": "IntakeQueue", "IntakeQueueArn": "IntakeQueue.Arn", "IntakeDeadLetterQueueUrl": "IntakeDeadLetterQueue",
		"NotificationRule": tpl.resources("")["NotificationRule"].at("Properties", "Name").text, "IntakeFunction": intake,
		"ListerFunction": lister, "ReaderFunction": reader, "FinalizerFunction": finalizer,
		"ReportUrl": "s3://reports/in/", "EventBus": "bus",
	}
	with := tpl.with("ReportBucket", "reports", "ReportPrefix", "in/", "EventBusName", "bus")
	outputs := with.eval(tpl.doc.at("Outputs"))
	for name, v := range want {
		got := outputs.at(name, "Value").text
		p.unless(got == v, "output %s is %q, want %q", name, got, v)
	}
	return p
}
