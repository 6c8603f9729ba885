package template_test

import (
	"slices"
	"strings"
)

// ownRoles: SAM gives a function without a role, and one with policies, managed
// policies that hold for every queue and every log group of the account.
func ownRoles(tpl *template) []string {
	var p problems
	used := map[string]string{}
	for _, name := range functions() {
		f := tpl.function(name).at("Properties")
		role, ok := strings.CutSuffix(f.at("Role").text, ".Arn")
		p.unless(ok && !tpl.resources("AWS::IAM::Role")[role].zero(), "%s has no role of the template's", name)
		p.unless(used[role] == "", "%s shares its role with %s", name, used[role])
		used[role] = name
	}
	for name, r := range tpl.resources("AWS::IAM::Role") {
		p.unless(r.at("Properties", "ManagedPolicyArns").zero(), "%s has managed policies", name)
		for _, s := range r.at("Properties", "AssumeRolePolicyDocument", "Statement").items() {
			p.unless(slices.Equal(s.at("Principal", "Service").texts(), []string{"lambda.amazonaws.com"}), "%s may be assumed by others than Lambda", name)
		}
	}
	return p
}

// grants are the statements of a function's role, with every option taken.
func grants(tpl *template, function string) []value {
	role, _ := strings.CutSuffix(tpl.function(function).at("Properties", "Role").text, ".Arn")
	var all []value
	for _, policy := range tpl.resources("AWS::IAM::Role")[role].at("Properties", "Policies").list {
		all = append(all, policy.at("PolicyDocument", "Statement").items()...)
	}
	return append(all, statements(tpl, "AWS::IAM::Policy", "Roles")[role]...)
}

// full is the template with every option taken, and names to know them by.
func full(tpl *template) *template {
	return tpl.with("SourceBucket", "logs", "SourcePrefix", "in/", "OutputBucket", "rows", "OutputPrefix", "out/",
		"ReportBucket", "reports", "ReportPrefix", "jobs/", "EventBusName", "bus",
		"KmsKeyArn", "key", "SourceKmsKeyArn", "source-key", "OutputKmsKeyArn", "output-key", "ReportKmsKeyArn", "report-key")
}

const (
	sourceObjects = "arn:${AWS::Partition}:s3:::logs/in/*"
	outputObjects = "arn:${AWS::Partition}:s3:::rows/out/*"
	reportObjects = "arn:${AWS::Partition}:s3:::reports/jobs/*"
	anyMachine    = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:*"
)

// wildcards are the resources that may stand for many, and why.
func wildcards() map[string]string {
	return map[string]string{
		sourceObjects: "the objects under the prefix that the stack is for",
		outputObjects: "the objects under the prefix that it writes",
		reportObjects: "the reports under their prefix",
		anyMachine:    "whoever has a task's token may wait in any state machine; the token is what lets it be answered",
	}
}

func noWildcards(tpl *template) []string {
	var p problems
	tpl = full(tpl)
	unused := wildcards()
	for _, name := range functions() {
		for _, s := range grants(tpl, name) {
			p.unless(s.at("Effect").text == "Allow" && s.at("NotAction").zero() && s.at("NotResource").zero(), "%s: a statement that does not say what is allowed", name)
			for _, a := range s.at("Action").texts() {
				p.unless(!strings.Contains(a, "*"), "%s: action %s", name, a)
			}
			resources := s.at("Resource").texts()
			p.unless(len(resources) > 0, "%s: a statement without a resource", name)
			for _, r := range resources {
				p.unless(!strings.Contains(r, "*") || wildcards()[r] != "", "%s: resource %s", name, r)
				p.unless(!strings.Contains(r, "(no resource"), "%s: resource %s", name, r)
				delete(unused, r)
			}
		}
	}
	for r, why := range unused {
		p.add("no permission is for %s (%s)", r, why)
	}
	return p
}

// may is what a function may do with a resource, at most: the actions that the
// driver of its protocol calls there.
type may map[string][]string

var (
	readOf = []string{"s3:GetObject", "s3:GetObjectVersion"}
	keyOf  = []string{"kms:Decrypt", "kms:GenerateDataKey"}
)

// parts is the whole of what functions may do. That the reader may not send to
// the queue that it reads, and that only the finalizer deletes, and nothing but
// entries of the ledger, is INV-8 and the design's fences as permissions.
func parts() map[string]may {
	const busARN, bucket = "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/bus", "arn:${AWS::Partition}:s3:::logs"
	proof := []string{"lambda:InvokeFunction"}
	ends := []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}
	return map[string]may{
		lister: {
			"JobTable.Arn":  {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"},
			"FeedQueue.Arn": {"sqs:SendMessage"}, bucket: {"s3:ListBucket"}, sourceObjects: readOf,
			arn("lambda", "function:${AWS::StackName}-finalizer"): proof, busARN: {"events:PutEvents"}, "key": keyOf, "source-key": {"kms:Decrypt"},
		},
		intake: {
			"JobTable.Arn":              {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"},
			"IntakeQueue.Arn":           {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
			"IntakeDeadLetterQueue.Arn": {"sqs:SendMessage"}, "FeedQueue.Arn": {"sqs:SendMessage"},
			bucket: {"s3:ListBucket"}, sourceObjects: readOf, "key": keyOf, "source-key": {"kms:Decrypt"},
		},
		reader: {
			"JobTable.Arn":  {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
			"FeedQueue.Arn": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"},
			bucket:          {"s3:ListBucket"}, sourceObjects: readOf, outputObjects: {"s3:PutObject", "s3:AbortMultipartUpload"},
			arn("lambda", "function:${AWS::StackName}-finalizer"): proof, busARN: {"events:PutEvents"}, "key": keyOf, "source-key": {"kms:Decrypt"}, "output-key": keyOf,
		},
		finalizer: {
			"JobTable.Arn": ends, "JobTable.Arn/index/unfinished": ends,
			bucket: {"s3:ListBucket"}, sourceObjects: readOf, "source-key": {"kms:Decrypt"}, // of keys that are looked at again
			"FeedQueue.Arn":       {"sqs:SendMessage", "sqs:GetQueueAttributes"},
			"DeadLetterQueue.Arn": {"sqs:GetQueueAttributes"}, reportObjects: {"s3:PutObject"}, anyMachine: {"states:SendTaskSuccess", "states:SendTaskFailure"},
			arn("lambda", "function:${AWS::StackName}-lister"): proof, busARN: {"events:PutEvents"}, "key": keyOf, "report-key": {"kms:GenerateDataKey"},
		},
	}
}

func partsOnly(tpl *template) []string {
	var p problems
	tpl = full(tpl)
	for name, part := range parts() {
		group := tpl.function(name).at("Properties", "LoggingConfig", "LogGroup").text
		part[group+".Arn"] = []string{"logs:CreateLogStream", "logs:PutLogEvents"}
		got := may{}
		for _, s := range grants(tpl, name) {
			for _, r := range s.at("Resource").texts() {
				got[r] = append(got[r], s.at("Action").texts()...)
			}
			conditioned(&p, name, s)
		}
		for r, actions := range got {
			for _, a := range actions {
				p.unless(slices.Contains(part[r], a), "%s may %s on %s", name, a, r)
			}
		}
		for r, actions := range part {
			for _, a := range actions {
				p.unless(slices.Contains(got[r], a), "%s may not %s on %s", name, a, r)
			}
		}
	}
	return p
}

// conditioned: a bucket is listed under the prefix alone, and a key is used for
// what the services store alone.
func conditioned(p *problems, name string, s value) {
	for _, a := range s.at("Action").texts() {
		switch {
		case a == "s3:ListBucket":
			p.unless(s.at("Condition", "StringLike", "s3:prefix").text == "in/*", "%s may list outside the prefix", name)
		case strings.HasPrefix(a, "kms:"):
			p.unless(!s.at("Condition", "StringEquals", "kms:ViaService").zero(), "%s may use %s by itself", name, s.at("Resource").text)
		}
	}
}
