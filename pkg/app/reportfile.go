package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spate-go/spate/pkg/report"
)

// reportFile is where --report goes. It is opened before the job runs, so that
// a path that cannot be written is found at once and not after hours, and it
// takes its place only when it is whole. A nil one takes no report.
type reportFile struct {
	path   string
	f      *os.File // a temporary file beside path; nil once it is in its place
	stream bool     // f is path itself: a terminal or a pipe
}

// openReport refuses a path that would destroy what the job reads or writes:
// the pipeline file, an object of the source (INV-8), a sink's output.
func openReport(path, pipeline string, c *Config) (*reportFile, error) {
	if path == "" {
		return nil, nil
	}
	loc, err := parseURL(c.Source.S3.URL)
	if err != nil {
		return nil, err
	}
	if err := outside(path, "--report", loc); err != nil {
		return nil, err
	}
	for _, p := range append(c.filePaths(), pipeline) {
		if samePath(path, p) {
			return nil, fmt.Errorf("--report: %s is the pipeline file or an output of it: choose another file", path)
		}
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("--report: %s is a directory: name a file", path)
	case err == nil && !info.Mode().IsRegular(): // a terminal or a pipe: nothing to keep whole
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("--report: %w", err)
		}
		return &reportFile{path: path, f: f, stream: true}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("--report: cannot write beside %s: %w", path, errors.Unwrap(err))
	}
	return &reportFile{path: path, f: f}, nil
}

// filePaths are the files and directories that the sinks write.
func (c *Config) filePaths() []string {
	var paths []string
	for _, s := range c.sections() {
		if s.File != nil {
			paths = append(paths, s.File.Path)
		}
	}
	return paths
}

func samePath(a, b string) bool {
	x, errX := resolve(a)
	y, errY := resolve(b)
	return errX == nil && errY == nil && x == y
}

func (r *reportFile) write(rep *report.Report) error {
	if r == nil {
		return nil
	}
	err := writeJSON(r.f, rep)
	if !r.stream {
		err = errors.Join(err, r.f.Chmod(0o644))
	}
	err = errors.Join(err, r.f.Close())
	if err == nil && !r.stream {
		err = os.Rename(r.f.Name(), r.path)
	}
	if err != nil {
		return fmt.Errorf("write report %s: %w", r.path, err)
	}
	r.f = nil
	return nil
}

// discard removes a report that was not written.
func (r *reportFile) discard() {
	if r == nil || r.f == nil {
		return
	}
	_ = r.f.Close()
	if !r.stream {
		_ = os.Remove(r.f.Name())
	}
}
