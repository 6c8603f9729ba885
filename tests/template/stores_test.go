package template_test

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/spate-go/spate/pkg/ledger/dynamoledger"
)

// tableFits: what the ledger's driver relies on, and a way back to any second.
func tableFits(tpl *template) []string {
	var p problems
	t := tpl.resources("")["JobTable"].at("Properties")
	p.unless(t.at("BillingMode").text == "PAY_PER_REQUEST", "the table does not grow with its jobs")
	p.unless(t.at("TimeToLiveSpecification", "AttributeName").text == dynamoledger.Lifetime && t.at("TimeToLiveSpecification", "Enabled").text == "true",
		"what expires stays")
	p.unless(t.at("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled").text == "true", "there is no way back to an earlier state")
	want := dynamoledger.Schema("JobTable")
	keys := func(schema value) (all []string) {
		for _, k := range schema.list {
			all = append(all, k.at("AttributeName").text+" "+k.at("KeyType").text)
		}
		return all
	}
	wanted := func(schema []types.KeySchemaElement) (all []string) {
		for _, k := range schema {
			all = append(all, *k.AttributeName+" "+string(k.KeyType))
		}
		return all
	}
	p.unless(slices.Equal(keys(t.at("KeySchema")), wanted(want.KeySchema)), "the table's keys are %v", keys(t.at("KeySchema")))
	indexes := t.at("GlobalSecondaryIndexes").list
	p.unless(len(indexes) == len(want.GlobalSecondaryIndexes), "the table has %d indexes", len(indexes))
	for i := range min(len(indexes), len(want.GlobalSecondaryIndexes)) {
		got, want := indexes[i], want.GlobalSecondaryIndexes[i]
		p.unless(got.at("IndexName").text == *want.IndexName && slices.Equal(keys(got.at("KeySchema")), wanted(want.KeySchema)) &&
			got.at("Projection", "ProjectionType").text == string(want.Projection.ProjectionType), "index %s is not the ledger's", got.at("IndexName").text)
	}
	return p
}

// holdNothing are the types of resources that store no data of a job.
func holdNothing(kind string) bool {
	return slices.Contains([]string{
		"AWS::Serverless::Function", "AWS::IAM::Role", "AWS::IAM::Policy", "AWS::SQS::QueuePolicy",
		"AWS::S3::BucketPolicy", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard",
		"AWS::Events::Rule", "AWS::SNS::Subscription",
	}, kind)
}

// encrypted: with AWS's keys and with the user's own.
func encrypted(tpl *template) []string {
	var p problems
	const key = "arn:aws:kms:eu-west-1:1:key/1"
	for _, k := range []string{"", key} {
		for name, r := range tpl.with("KmsKeyArn", k, "CreateSourceBucket", "true").resources("") {
			at, used, on := r.at("Properties"), value{}, false
			switch kind := r.at("Type").text; kind {
			case "AWS::SQS::Queue":
				used = at.at("KmsMasterKeyId")
				on = k != "" || at.at("SqsManagedSseEnabled").text == "true"
			case "AWS::DynamoDB::Table":
				used = at.at("SSESpecification", "KMSMasterKeyId")
				on = at.at("SSESpecification", "SSEEnabled").text == "true"
			case "AWS::S3::Bucket":
				for _, rule := range at.at("BucketEncryption", "ServerSideEncryptionConfiguration").list {
					by := rule.at("ServerSideEncryptionByDefault")
					used = by.at("KMSMasterKeyID")
					_, said := by.fields["KMSMasterKeyID"]
					p.unless(said == (k != ""), "%s names a key that is none", name)
					on = by.at("SSEAlgorithm").text == map[string]string{"": "AES256", key: "aws:kms"}[k]
				}
			case "AWS::Logs::LogGroup":
				on, used = true, value{text: k} // always, by the service; no log line holds data
			default:
				p.unless(holdNothing(kind), "%s: say how a %s is encrypted", name, kind)
				continue
			}
			p.unless(on, "%s is not encrypted, with key %q", name, k)
			p.unless(used.text == k, "%s is encrypted with key %q, want %q", name, used.text, k)
		}
	}
	return p
}

// statements are those of the policies of a type of resource, by the resource
// that they are attached to.
func statements(tpl *template, kind, attached string) map[string][]value {
	all := map[string][]value{}
	for _, r := range tpl.resources(kind) {
		for _, to := range r.at("Properties", attached).texts() {
			all[to] = append(all[to], r.at("Properties", "PolicyDocument", "Statement").items()...)
		}
	}
	return all
}

// onlyTLS: each queue and bucket refuses all that comes in the clear.
func onlyTLS(tpl *template) []string {
	var p problems
	refuses := func(all []value, action string, resources ...string) bool {
		return slices.ContainsFunc(all, func(s value) bool {
			return s.at("Effect").text == "Deny" && s.at("Principal").text == "*" && s.at("Action").text == action &&
				s.at("Condition", "Bool", "aws:SecureTransport").text == "false" && slices.Equal(s.at("Resource").texts(), resources)
		})
	}
	tpl = tpl.with("CreateSourceBucket", "true")
	queues, buckets := statements(tpl, "AWS::SQS::QueuePolicy", "Queues"), statements(tpl, "AWS::S3::BucketPolicy", "Bucket")
	for name := range tpl.resources("AWS::SQS::Queue") {
		p.unless(refuses(queues[name], "sqs:*", name+".Arn"), "%s takes what comes in the clear", name)
	}
	for name := range tpl.resources("AWS::S3::Bucket") {
		p.unless(refuses(buckets[name], "s3:*", name+".Arn", name+".Arn/*"), "%s takes what comes in the clear", name)
	}
	return p
}

// servicesAreOurs: a service acts in everybody's name, so where one is let in it
// must be for this account. Nobody else is let in at all.
func servicesAreOurs(tpl *template) []string {
	var p problems
	tpl = tpl.with("NotificationTopicArn", "topic")
	for kind, attached := range map[string]string{"AWS::SQS::QueuePolicy": "Queues", "AWS::S3::BucketPolicy": "Bucket"} {
		for name, all := range statements(tpl, kind, attached) {
			for _, s := range all {
				if s.at("Effect").text == "Deny" {
					continue
				}
				p.unless(!s.at("Principal", "Service").zero(), "%s lets in others than services", name)
				p.unless(s.at("Condition", "StringEquals", "aws:SourceAccount").text == "${AWS::AccountId}",
					"%s lets a service act for other accounts: want aws:SourceAccount", name)
			}
		}
	}
	return p
}

// kept: deleting the stack leaves reports and rows, and stops at the table where
// that was asked for; no update swaps either for an empty one.
func kept(tpl *template) []string {
	var p problems
	tpl = tpl.with("DeletionProtection", "true", "CreateSourceBucket", "true")
	all := tpl.resources("")
	table := all["JobTable"]
	p.unless(table.at("UpdateReplacePolicy").text == "Retain", "an update may throw the table away")
	p.unless(table.at("Properties", "DeletionProtectionEnabled").text == "true", "DeletionProtection does not protect the table")
	for name, bucket := range tpl.resources("AWS::S3::Bucket") {
		p.unless(bucket.at("DeletionPolicy").text == "Retain" && bucket.at("UpdateReplacePolicy").text == "Retain", "%s goes with the stack", name)
		block := bucket.at("Properties", "PublicAccessBlockConfiguration")
		for _, what := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
			p.unless(block.at(what).text == "true", "%s may become public: %s", name, what)
		}
	}
	return p
}
