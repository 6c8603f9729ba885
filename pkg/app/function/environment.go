package function

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Names of the variables that the template sets for the functions, besides those
// of the AWS SDK and of Lambda, and those that a pipeline file refers to.
const (
	envConfig       = "SPATE_CONFIG" // path of the pipeline file; default pipeline.yaml beside the binary
	envFeed         = "FEED_QUEUE_URL"
	envMaxReceives  = "FEED_MAX_RECEIVES"
	envDeadLetters  = "DEAD_LETTER_QUEUE_URL"
	envIntake       = "INTAKE_QUEUE_URL"
	envRefused      = "INTAKE_DEAD_LETTER_QUEUE_URL"
	envTable        = "JOB_TABLE"
	envReports      = "REPORT_URL"
	envLister       = "LISTER_FUNCTION"
	envFinalizer    = "FINALIZER_FUNCTION"
	envBus          = "EVENT_BUS"
	envMemory       = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE" // MB, set by Lambda
	defaultPipeline = "pipeline.yaml"
)

// environment is the functions' process environment. Its methods name the
// variable that is missing or wrong.
type environment func(string) (string, bool)

func (env environment) get(name string) string {
	v, _ := env(name)
	return v
}

func (env environment) need(name string) (string, error) {
	v := env.get(name)
	if v == "" {
		return "", fmt.Errorf("environment: %s is not set: the template sets it for this function", name)
	}
	return v, nil
}

// count is a whole number above 0; 0 where the variable is not set.
func (env environment) count(name string) (int, error) {
	v := env.get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("environment: %s is %q: want a whole number above 0", name, v)
	}
	return n, nil
}

// pipeline is the path of the pipeline file.
func (env environment) pipeline() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this function's own directory: %w", err)
	}
	return cmp.Or(env.get(envConfig), filepath.Join(filepath.Dir(exe), defaultPipeline)), nil
}
