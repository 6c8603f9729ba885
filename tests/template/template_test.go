// Package template_test holds template.yaml to what neither CloudFormation nor
// its linters check: that what is deployed keeps the design's rules, that its
// permissions are no wider than they must be, and that it fits the code.
//
// It reads the template as it is written and works out its intrinsic functions
// for given parameters; it knows no more of CloudFormation than that takes. That
// the rules see anything is shown by breaking the template, once for each.
package template_test

import (
	"os"
	"strings"
	"testing"
)

const root = "../../"

// A rule says what is wrong with a template.
type rule func(tpl *template) []string

var rules = map[string]rule{
	"only what CloudFormation itself reads":         plain,
	"parameters have defaults that they allow":      parametersAreSane,
	"samconfig sets what there is":                  configFits,
	"a message stays hidden while it is read":       visibilityCovers,
	"a reader gets one unit, and says if it failed": oneUnit,
	"readers at once are what Lambda allows":        concurrencyInRange,
	"notifications come in batches":                 windows,
	"the source tells the intake":                   notified,
	"a unit given up is kept for longer":            deadLettersOutlive,
	"the table is the ledger's":                     tableFits,
	"what is stored is encrypted":                   encrypted,
	"what is sent is encrypted":                     onlyTLS,
	"services act for this account alone":           servicesAreOurs,
	"what jobs leave behind is kept":                kept,
	"roles are the template's own":                  ownRoles,
	"no permission is a wildcard":                   noWildcards,
	"each function may do its part alone":           partsOnly,
	"functions are as the design wants them":        functionsFit,
	"logs end":                                      logsEnd,
	"the environment is what the code reads":        environmentFits,
	"commands find the stack's parts":               outputsFit,
	"the dashboard is JSON":                         dashboardIsJSON,
}

func text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTemplate(t *testing.T) {
	tpl, err := parse(text(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			for _, wrong := range r(tpl) {
				t.Error(wrong)
			}
		})
	}
}

// mutants break the template, each in a way that the rule of that name sees.
var mutants = []struct{ rule, old, new string }{
	{"only what CloudFormation itself reads", "Transform: AWS::Serverless-2016-10-31", "Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]"},
	{"only what CloudFormation itself reads", "BatchSize: 1", "BatchSize: &one 1"},
	{"parameters have defaults that they allow", "Default: 1769", "Default: 200"},
	{"parameters have defaults that they allow", "Default: INFO", "Default: INFORM"},
	{"parameters have defaults that they allow", "Default: output/", "Default: output"},
	{"parameters have defaults that they allow", "    Description: Readers at once.\n", ""},
	{"samconfig sets what there is", "  LogRetentionDays:\n", "  RetentionDays:\n"},
	{"samconfig sets what there is", "AllowedValues: [DEBUG, INFO, WARN, ERROR]", "AllowedValues: [INFO, WARN, ERROR]"},
	{"a message stays hidden while it is read", `"600": {Seconds: 720}`, `"600": {Seconds: 599}`},
	{"a message stays hidden while it is read", `    "120": {Seconds: 144}` + "\n", ""},
	{"a message stays hidden while it is read", "VisibilityTimeout: !FindInMap [Visibility, !Ref ReaderTimeout, Seconds]", "VisibilityTimeout: 60"},
	{"a message stays hidden while it is read", "VisibilityTimeout: !FindInMap [Visibility, !Ref ReaderTimeout, Seconds]", "DelaySeconds: 0"},
	{"a message stays hidden while it is read", "Timeout: !Ref ReaderTimeout", "Timeout: 1200"},
	{"a reader gets one unit, and says if it failed", "BatchSize: 1", "BatchSize: 10"},
	{"a reader gets one unit, and says if it failed", "BatchSize: 1", "BatchSize: 1\n            MaximumBatchingWindowInSeconds: 5"},
	{"a reader gets one unit, and says if it failed", "BatchSize: 1\n            FunctionResponseTypes: [ReportBatchItemFailures]\n", "BatchSize: 1\n"},
	{"notifications come in batches", "BatchingWindow\n            FunctionResponseTypes: [ReportBatchItemFailures]\n", "BatchingWindow\n"},
	{"readers at once are what Lambda allows", "MinValue: 2\n    MaxValue: 1000", "MinValue: 1\n    MaxValue: 1000"},
	{"readers at once are what Lambda allows", "            ScalingConfig: {MaximumConcurrency: !Ref MaximumConcurrency}\n", ""},
	{"readers at once are what Lambda allows", "            ScalingConfig: {MaximumConcurrency: !Ref IntakeConcurrency}\n", ""},
	{"notifications come in batches", `"5": {Size: 1000, Hidden: 125}`, `"5": {Size: 1000, Hidden: 60}`},
	{"notifications come in batches", `"0": {Size: 10,`, `"0": {Size: 100,`},
	{"notifications come in batches", "MaximumBatchingWindowInSeconds: !Ref BatchingWindow", "MaximumBatchingWindowInSeconds: 5"},
	{"notifications come in batches", "      Timeout: 60\n", "      Timeout: 600\n"},
	{"notifications come in batches", "Queue: !GetAtt IntakeQueue.Arn\n            BatchSize", "Queue: !GetAtt FeedQueue.Arn\n            BatchSize"},
	{"the source tells the intake", "State: DISABLED", "State: ENABLED"},
	{"the source tells the intake", "DependsOn: IntakePolicy", "DependsOn: FeedPolicy"},
	{"the source tells the intake", `Event: "s3:ObjectCreated:*"`, `Event: "s3:ObjectRemoved:*"`},
	{"the source tells the intake", "rule/${AWS::StackName}-notifications", "rule/*"},
	{"the source tells the intake", `"aws:SourceArn": !Sub "arn:${AWS::Partition}:s3:::${SourceBucket}"`, `"aws:SourceArn": "arn:aws:s3:::*"`},
	{"the source tells the intake", "Targets: [{Id: intake, Arn: !GetAtt IntakeQueue.Arn}]", "Targets: [{Id: intake, Arn: !GetAtt FeedQueue.Arn}]"},
	{"services act for this account alone", `StringEquals: {"aws:SourceAccount": !Ref AWS::AccountId}, ArnEquals: {"aws:SourceArn": !Ref NotificationTopicArn}`, `ArnEquals: {"aws:SourceArn": !Ref NotificationTopicArn}`},
	{"a unit given up is kept for longer", "MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600"},
	{"a unit given up is kept for longer", "MessageRetentionPeriod: 345600 ", "DelaySeconds: 0 "},
	{"a unit given up is kept for longer", "maxReceiveCount: !Ref MaxReceives", "maxReceiveCount: 10"},
	{"a unit given up is kept for longer", "redrivePermission: byQueue", "redrivePermission: allowAll"},
	{"a unit given up is kept for longer", "    Default: 5\n    Description: Deliveries", "    Default: 10\n    Description: Deliveries"},
	{"the table is the ledger's", "{AttributeName: unfinished, KeyType: RANGE}", "{AttributeName: sk, KeyType: RANGE}"},
	{"the table is the ledger's", "ProjectionType: KEYS_ONLY", "ProjectionType: ALL"},
	{"the table is the ledger's", "AttributeName: expires", "AttributeName: ttl"},
	{"the table is the ledger's", "PointInTimeRecoveryEnabled: true", "PointInTimeRecoveryEnabled: false"},
	{"the table is the ledger's", "BillingMode: PAY_PER_REQUEST", "BillingMode: PROVISIONED"},
	{"the table is the ledger's", "{AttributeName: sk, KeyType: RANGE}", "{AttributeName: id, KeyType: RANGE}"},
	{"what is stored is encrypted", "SqsManagedSseEnabled: !If [HasKey, !Ref AWS::NoValue, true]", "SqsManagedSseEnabled: !If [HasKey, !Ref AWS::NoValue, false]"},
	{"what is stored is encrypted", "KmsMasterKeyId: !If [HasKey, !Ref KmsKeyArn, !Ref AWS::NoValue]", "DelaySeconds: 0"},
	{"what is stored is encrypted", "SSEEnabled: true", "SSEEnabled: false"},
	{"what is stored is encrypted", "KMSMasterKeyID: !If [HasKey", "KMSMasterKeyID: !If [OwnBucket"},
	{"what is stored is encrypted", "Type: AWS::Logs::LogGroup", "Type: AWS::Kinesis::Stream"},
	{"what is sent is encrypted", "Queues: [!Ref DeadLetterQueue]", "Queues: [!Ref FeedQueue]"},
	{"what is sent is encrypted", "Condition: {Bool: {\"aws:SecureTransport\": \"false\"}}", "Condition: {Bool: {\"aws:SecureTransport\": \"true\"}}"},
	{"what is sent is encrypted", `Resource: [!GetAtt Bucket.Arn, !Sub "${Bucket.Arn}/*"]`, "Resource: [!GetAtt Bucket.Arn]"},
	{"services act for this account alone", `Effect: Deny, Principal: "*", Action: "sqs:*"`, `Effect: Allow, Principal: {Service: s3.amazonaws.com}, Action: "sqs:SendMessage"`},
	{"services act for this account alone", `Effect: Deny, Principal: "*", Action: "sqs:*"`, `Effect: Allow, Principal: "*", Action: "sqs:*"`},
	{"what jobs leave behind is kept", "DeletionPolicy: Retain", "DeletionPolicy: Delete"},
	{"what jobs leave behind is kept", "    UpdateReplacePolicy: Retain\n    DeletionPolicy: Delete\n", "    DeletionPolicy: Delete\n"},
	{"what jobs leave behind is kept", "DeletionProtectionEnabled: !Ref DeletionProtection", "DeletionProtectionEnabled: false"},
	{"what jobs leave behind is kept", "BlockPublicPolicy: true", "BlockPublicPolicy: false"},
	{"roles are the template's own", "      Role: !GetAtt ReaderRole.Arn\n", ""},
	{"roles are the template's own", "      Role: !GetAtt ReaderRole.Arn\n", "      Role: !GetAtt FinalizerRole.Arn\n"},
	{"roles are the template's own", "      Policies:\n        - PolicyName: reader\n", "      ManagedPolicyArns: [arn:aws:iam::aws:policy/AmazonSQSFullAccess]\n      Policies:\n        - PolicyName: reader\n"},
	{"no permission is a wildcard", `{Sid: Send, Effect: Allow, Action: "sqs:SendMessage"`, `{Sid: Send, Effect: Allow, Action: "sqs:*"`},
	{"no permission is a wildcard", `Action: "sqs:SendMessage", Resource: !GetAtt FeedQueue.Arn`, `Action: "sqs:SendMessage", Resource: "*"`},
	{"no permission is a wildcard", "s3:::${SourceBucket}/${SourcePrefix}*", "s3:::${SourceBucket}/*"},
	{"no permission is a wildcard", "stateMachine:*", "stateMachine:mine"},
	{"each function may do its part alone", `"sqs:GetQueueAttributes"], Resource: !GetAtt FeedQueue.Arn`, `"sqs:SendMessage"], Resource: !GetAtt FeedQueue.Arn`},
	{"each function may do its part alone", `["s3:PutObject", "s3:AbortMultipartUpload"]`, `["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"]`},
	{"each function may do its part alone", `Condition: {StringLike: {"s3:prefix": !Sub "${SourcePrefix}*"}}`, "Condition: {}"},
	{"each function may do its part alone", `"s3:prefix": !Sub "${SourcePrefix}*"`, `"s3:prefix": !Sub "${OutputPrefix}*"`},
	{"each function may do its part alone", "Roles: [!Ref ListerRole, !Ref IntakeRole, !Ref ReaderRole, !Ref FinalizerRole]", "Roles: [!Ref ListerRole]"},
	{"each function may do its part alone", "Roles: [!Ref ReaderRole]", "Roles: [!Ref ReaderRole, !Ref FinalizerRole]"},
	{"each function may do its part alone", `Action: "sqs:SendMessage", Resource: !GetAtt IntakeDeadLetterQueue.Arn`, `Action: "sqs:SendMessage", Resource: !GetAtt IntakeQueue.Arn`},
	{"each function may do its part alone", "function:${AWS::StackName}-lister", "function:${AWS::StackName}-finalizer"},
	{"each function may do its part alone", `"dynamodb:UpdateItem", "dynamodb:DeleteItem"`, `"dynamodb:UpdateItem", "dynamodb:DeleteTable"`},
	{"functions are as the design wants them", "      Timeout: 900\n", "      Timeout: 900\n      RecursiveLoop: Allow\n"},
	{"functions are as the design wants them", "      Timeout: 900\n", "      Timeout: 900\n      ReservedConcurrentExecutions: 10\n"},
	{"functions are as the design wants them", "Runtime: provided.al2023", "Runtime: provided.al2"},
	{"functions are as the design wants them", "Default: arm64", "Default: x86_64"},
	{"functions are as the design wants them", "MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60}\n  ListerLogs", "MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 60}\n  ListerLogs"},
	{"functions are as the design wants them", "Schedule: rate(1 minute)", "Schedule: rate(1 hour)"},
	{"functions are as the design wants them", "Metadata: {BuildMethod: makefile}", "Metadata: {BuildMethod: go1.x}"},
	{"functions are as the design wants them", "-reader\n      Description", "-readers\n      Description"},
	{"functions are as the design wants them", "  ListerFunction:\n", "  ListingFunction:\n"},
	{"logs end", "RetentionInDays: !Ref LogRetentionDays", "KmsKeyId: none"},
	{"logs end", "LogGroup: !Ref ReaderLogs", "LogGroup: !Ref OtherLogs"},
	{"logs end", "LogFormat: JSON", "LogFormat: Text"},
	{"the environment is what the code reads", "FEED_QUEUE_URL: !Ref FeedQueue", "QUEUE_URL: !Ref FeedQueue"},
	{"the environment is what the code reads", "JOB_TABLE: !Ref JobTable", "JOB_TABLE: !Ref FeedQueue"},
	{"the environment is what the code reads", "FEED_MAX_RECEIVES: !Ref MaxReceives", "FEED_MAX_RECEIVES: 10"},
	{"the environment is what the code reads", "LISTER_FUNCTION: !Sub ${AWS::StackName}-lister", "LISTER_FUNCTION: !Sub ${AWS::StackName}-finalizer"},
	{"the environment is what the code reads", "CLICKHOUSE_PASSWORD: !If [HasClickHousePassword,", "CLICKHOUSE_TOKEN: !If [HasClickHousePassword,"},
	{"the environment is what the code reads", "CLICKHOUSE_URL: !If [HasClickHouse, !Ref ClickHouseUrl", "CLICKHOUSE_URL: !If [HasClickHouse, !Ref ClickHouseUser"},
	{"the environment is what the code reads", "OUTPUT_URL: !Sub", "SINK_URL: !Sub"},
	{"commands find the stack's parts", "  ReportUrl:\n", "  ReportsUrl:\n"},
	{"commands find the stack's parts", "Value: !Ref DeadLetterQueue", "Value: !Ref FeedQueue"},
	{"the dashboard is JSON", `{"label": "notifications"}]]}},`, `{"label": "notifications"}]]}}`},
	{"the dashboard is JSON", `"${ReaderFunction}", {"label": "readers"}`, `"${ReaderFunctions}", {"label": "readers"}`},
}

func TestABrokenTemplateIsSeen(t *testing.T) {
	whole := text(t)
	seen := map[string]bool{}
	for _, m := range mutants {
		t.Run(m.rule+"/"+strings.TrimSpace(m.new), func(t *testing.T) {
			broken := strings.Replace(whole, m.old, m.new, 1)
			if broken == whole {
				t.Fatalf("the template no longer holds %q", m.old)
			}
			tpl, err := parse(broken)
			if err != nil {
				t.Fatal(err)
			}
			if len(rules[m.rule](tpl)) == 0 {
				t.Errorf("%q in place of %q: not seen", m.new, m.old)
			}
		})
		seen[m.rule] = true
	}
	for name := range rules {
		if !seen[name] {
			t.Errorf("no mutant tries the rule %q", name)
		}
	}
}
