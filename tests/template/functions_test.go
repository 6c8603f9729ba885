package template_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func functionsFit(tpl *template) []string {
	var p problems
	makefile, err := os.ReadFile(root + "Makefile")
	if err != nil {
		return []string{err.Error()}
	}
	all := tpl.resources("AWS::Serverless::Function")
	p.unless(len(all) == len(functions()), "the template has %d functions", len(all))
	for _, name := range functions() {
		f := tpl.function(name)
		at := f.at("Properties")
		p.unless(at.at("Runtime").text == "provided.al2023" && at.at("Handler").text == "bootstrap", "%s does not run a binary on Amazon Linux 2023", name)
		p.unless(slices.Equal(at.at("Architectures").texts(), []string{"arm64"}), "%s is not for arm64", name)
		p.unless(slices.Equal(tpl.with("Architecture", "x86_64").function(name).at("Properties", "Architectures").texts(), []string{"x86_64"}), "%s cannot be had for x86_64", name)
		p.unless(f.at("Metadata", "BuildMethod").text == "makefile" && strings.Contains(string(makefile), "\nbuild-"+name+":"), "the Makefile does not build %s", name)
		short := strings.ToLower(strings.TrimSuffix(name, "Function"))
		p.unless(at.at("FunctionName").text == "${AWS::StackName}-"+short, "%s is not called after its part", name)
		// Lambda ends loops that a function feeds itself. None is wanted here, so
		// one that arises by mistake must be ended.
		p.unless(at.at("RecursiveLoop").zero(), "%s: RecursiveLoop is not left at its default", name)
		// A new account's quota is smaller than any number that would be of use.
		p.unless(at.at("ReservedConcurrentExecutions").zero(), "%s reserves concurrency", name)
		if name != reader && name != intake { // which queues call
			// The schedule makes up for a call that failed.
			p.unless(at.at("EventInvokeConfig", "MaximumRetryAttempts").text == "0", "%s: a call that failed is made again", name)
		}
	}
	every := tpl.function(finalizer).at("Properties", "Events", "EachMinute")
	p.unless(every.at("Type").text == "Schedule" && every.at("Properties", "Schedule").text == "rate(1 minute)", "the finalizer is not called each minute")
	return p
}

// logsEnd: each function logs JSON into a group that forgets.
func logsEnd(tpl *template) []string {
	var p problems
	groups := tpl.resources("AWS::Logs::LogGroup")
	for _, name := range functions() {
		f := tpl.function(name).at("Properties")
		log := f.at("LoggingConfig")
		group := groups[log.at("LogGroup").text].at("Properties")
		p.unless(log.at("LogFormat").text == "JSON", "%s does not log JSON", name)
		p.unless(log.at("ApplicationLogLevel").text == "INFO", "%s: LogLevel does not reach it", name)
		p.unless(group.at("LogGroupName").text == "/aws/lambda/"+f.at("FunctionName").text, "%s does not log under its name", name)
		p.unless(number(group.at("RetentionInDays")) >= 1, "%s: its log grows for ever", name)
	}
	return p
}

// environmentFits: what the code reads is set, what is set is read.
func environmentFits(tpl *template) []string {
	var p problems
	read, err := read(root + "pkg/app/function/environment.go")
	if err != nil {
		return []string{err.Error()}
	}
	pipeline, err := referred(root + "examples/pipeline.yaml")
	if err != nil {
		return []string{err.Error()}
	}
	clickhouse, err := referred(root + "examples/clickhouse/pipeline.yaml")
	if err != nil {
		return []string{err.Error()}
	}
	bare := tpl.function(reader).at("Properties", "Environment", "Variables")
	p.unless(bare.at("CLICKHOUSE_URL").zero() && bare.at("CLICKHOUSE_PASSWORD").zero(), "the reader has a ClickHouse that nobody named")
	tpl = tpl.with("ClickHouseUrl", "http://ch", "ClickHouseUser", "u", "ClickHousePasswordSecretArn", "arn:s")
	tpl = tpl.with("SourceBucket", "logs", "SourcePrefix", "in/", "OutputBucket", "rows", "ReportBucket", "reports", "EventBusName", "bus", "MaxReceives", "7")
	want := map[string]string{
		"FEED_QUEUE_URL": "FeedQueue", "FEED_MAX_RECEIVES": "7", "DEAD_LETTER_QUEUE_URL": "DeadLetterQueue", "JOB_TABLE": "JobTable",
		"INTAKE_QUEUE_URL": "IntakeQueue", "INTAKE_DEAD_LETTER_QUEUE_URL": "IntakeDeadLetterQueue",
		"REPORT_URL": "s3://reports/reports/", "LISTER_FUNCTION": tpl.function(lister).at("Properties", "FunctionName").text,
		"FINALIZER_FUNCTION": tpl.function(finalizer).at("Properties", "FunctionName").text, "EVENT_BUS": "bus",
		"SOURCE_URL": "s3://logs/in/", "OUTPUT_URL": "s3://rows/output/",
		"CLICKHOUSE_URL": "http://ch", "CLICKHOUSE_USER": "u",
	}
	for _, name := range functions() {
		set := tpl.function(name).at("Properties", "Environment", "Variables")
		for _, v := range set.keys() {
			p.unless(slices.Contains(slices.Concat(read, pipeline, clickhouse), v), "%s: nobody reads %s", name, v)
			got, wanted := set.at(v).text, want[v]
			if name == reader && v == "CLICKHOUSE_PASSWORD" { // of the others none has it
				wanted = "{{resolve:secretsmanager:arn:s}}"
			}
			p.unless(got == wanted, "%s: %s is %q, want %q", name, v, got, wanted)
		}
		for _, v := range slices.Concat(read, pipeline) {
			p.unless(!set.at(v).zero(), "%s: %s is not set", name, v)
		}
	}
	return p
}

// given are variables that the code reads and Lambda sets, or that have a
// default on purpose.
func given(name string) bool { return strings.HasPrefix(name, "AWS_") || name == "SPATE_CONFIG" }

// read are the variables that the functions' code reads: the constants of a file
// whose names begin with env.
func read(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), nil, 0)
	if err != nil {
		return nil, err
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, v := range spec.Values {
			lit, ok := v.(*ast.BasicLit)
			if !ok || !strings.HasPrefix(spec.Names[i].Name, "env") {
				continue
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && !given(s) {
				all = append(all, s)
			}
		}
		return true
	})
	return all, nil
}

var reference = regexp.MustCompile(`\$\{(\w+)`)

// referred are the variables of a pipeline file.
func referred(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all, nil
}
