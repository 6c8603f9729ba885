package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spate-go/spate/pkg/app/internal/admin"
	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/plan"
)

// check returns everything that is wrong and that no single field shows. errorf
// makes the error of each problem.
func (c *Config) check(errorf errorf) error {
	p := problems{errorf: errorf}
	p.one("source", map[string]bool{"s3": c.Source.S3 != nil})
	if s := c.Source.S3; s != nil && s.Target != 0 {
		p.atLeast("source.s3.target", int64(s.Target), plan.MinTarget)
	}
	p.atLeast("pipeline.threads", int64(c.Pipeline.Threads), 0)
	if f := c.Feed; f == nil {
		p.add("feed", "required: say how units travel, in one process by feed: {memory: {}}")
	} else {
		p.one("feed", map[string]bool{"memory": f.Memory != nil, "sqs": f.SQS != nil})
		p.atLeast("feed.units_held", int64(f.UnitsHeld), 0)
		if f.Memory != nil {
			p.atLeast("feed.memory.attempt_cap", int64(f.Memory.AttemptCap), 0)
		}
	}
	c.checkName(&p)
	if j := c.Job; j != nil && j.Resends != nil {
		p.atLeast("job.resends", int64(*j.Resends), 0)
	}
	if f := c.Framing; f != nil {
		p.one("framing", map[string]bool{
			"auto": f.Auto != nil, "ndjson": f.NDJSON != nil, "lines": f.Lines != nil,
			"json": f.JSON != nil, "json_array": f.JSONArray != nil, "rejects": f.Rejects != nil,
		})
		if a := f.JSONArray; a != nil && slices.Contains(a.keys(), "") {
			p.add("framing.json_array.path", "%q has an empty key: write keys with one dot between, as detail.items", a.Path)
		}
	}
	if d := c.Decode; d != nil {
		p.one("decode", map[string]bool{"json": d.JSON != nil, "raw": d.Raw != nil})
	}
	c.checkChain(&p)
	c.checkSinks(&p)
	c.checkRejects(&p)
	if a := c.Admin; a != nil {
		if _, err := admin.Address(a.Listen); err != nil {
			p.add("admin.listen", "%q %v", a.Listen, err)
		}
	}
	return config.Join(p.errs...)
}

// checkName finds what is wrong with the job's name, wherever the job would run.
func (c *Config) checkName(p *problems) {
	path, name := "pipeline.name", c.Pipeline.Name
	if c.Job != nil && c.Job.Name != "" {
		path, name = "job.name", c.Job.Name
	}
	if err := ledger.CheckName(name); err != nil {
		p.add(path, "%v", err)
	}
}

// errorf makes an error about the value at path, or returns nil to leave it
// unsaid.
type errorf func(path, format string, args ...any) error

// plain is the errorf of a Config built in code, which has paths but no lines.
func plain(path, format string, args ...any) error {
	return fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
}

// concerns reports whether err is about the value at path, or one in it.
func concerns(err error, path string) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(many.Unwrap(), func(err error) bool { return concerns(err, path) })
	}
	e, ok := errors.AsType[*config.Error](err)
	return ok && strings.HasPrefix(e.Path+".", path+".")
}

// problems collects what is wrong with a configuration.
type problems struct {
	errorf errorf
	errs   []error
}

func (p *problems) add(path, format string, args ...any) {
	p.errs = append(p.errs, p.errorf(path, format, args...))
}

// one adds a problem unless exactly one of the components in a section is set.
func (p *problems) one(path string, set map[string]bool) {
	var known, given []string
	for name, is := range set {
		known = append(known, name)
		if is {
			given = append(given, name)
		}
	}
	slices.Sort(known)
	slices.Sort(given)
	switch len(given) {
	case 0:
		p.add(path, "needs one of: %s", strings.Join(known, ", "))
	case 1:
	default:
		p.add(path, "has %s: keep one", strings.Join(given, " and "))
	}
}

func (p *problems) atLeast(path string, n, least int64) {
	if n < least {
		p.add(path, "%d is less than %d", n, least)
	}
}
