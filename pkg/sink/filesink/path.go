package filesink

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

type kind int

const (
	whole kind = iota
	directory
	stream
)

// place is an output before it is opened.
type place struct {
	setting   setting
	kind      kind
	path      string // as it was given, for errors
	abs       string // what a journal knows it by
	dir       string // the directory that has to exist
	ext       string
	exists    bool
	overwrite bool
}

// resolve looks at the path and changes nothing.
func resolve(o Options) (place, error) {
	p := place{setting: o.setting(), path: o.Path, ext: o.extension(), overwrite: o.Overwrite}
	if o.Path == "" {
		return p, configf("%s is empty: name a file, or a directory with / at its end", p.setting)
	}
	if strings.ContainsAny(p.ext, `/\`) {
		return p, configf("sink.file: extension %q holds a separator: name it as in %q", p.ext, "ndjson")
	}
	var err error
	if p.abs, err = filepath.Abs(o.Path); err != nil {
		return p, p.setting.classify(err)
	}
	if isStandard(p.abs) {
		p.kind = stream
		return p, nil
	}
	info, err := os.Stat(p.abs)
	switch {
	case err == nil:
		p.exists = true
	case !errors.Is(err, os.ErrNotExist) && !isNotDir(err):
		return p, p.setting.classify(err)
	}
	slash := strings.HasSuffix(o.Path, "/") || strings.HasSuffix(o.Path, string(filepath.Separator))
	switch {
	case slash || p.exists && info.IsDir():
		p.kind, p.dir = directory, p.abs
	case p.exists && !info.Mode().IsRegular():
		p.kind = stream
		return p, nil
	default:
		p.dir = filepath.Dir(p.abs)
	}
	return p, p.directories()
}

// isStandard reports whether path is an open descriptor of the process. It may
// lead to a regular file, which is still not ours to replace.
func isStandard(path string) bool {
	switch path {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// directories refuses a place when the nearest thing above it that exists is no
// directory.
func (p place) directories() error {
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return configf("%s: %s is a file, so no output can be below it: choose another path", p.setting, dir)
		case !errors.Is(err, os.ErrNotExist) && !isNotDir(err):
			return p.setting.classify(err)
		}
	}
}

// refuse says no to an output that exists and is not known to the journal.
func (p place) refuse(known bool) error {
	if !p.exists || known || p.overwrite || p.kind == stream {
		return nil
	}
	if p.kind == whole {
		return configf("%s: %s exists already: pass --overwrite to replace it, or choose another path", p.setting, p.path)
	}
	files, err := p.files()
	if err != nil || len(files) == 0 {
		return err
	}
	return configf("%s: %s holds %s already: pass --overwrite to replace earlier output, or choose another directory",
		p.setting, p.path, files[0])
}

// files lists the visible files with our extension.
func (p place) files() ([]string, error) {
	entries, err := os.ReadDir(p.abs)
	if err != nil {
		return nil, p.setting.classify(err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "."+p.ext) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// clear removes what earlier processes left: hidden files, and under overwrite
// finished ones. What is not named like a unit's is not ours.
func (p place) clear() error {
	entries, err := os.ReadDir(p.abs)
	if err != nil {
		return p.setting.classify(err)
	}
	unit := `s3-[A-Za-z0-9_-]{22}(-[0-9]+)?\.` + regexp.QuoteMeta(p.ext)
	ours := regexp.MustCompile(`^(` + unit + `|\.` + unit + `\.partial)$`)
	for _, e := range entries {
		if !ours.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		if err := os.Remove(filepath.Join(p.abs, e.Name())); err != nil {
			return p.setting.classify(err)
		}
	}
	return nil
}

func configf(format string, args ...any) error {
	return failure.Errorf(failure.Job, failure.Config, format, args...)
}
