package filesink

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spate-go/spate/pkg/failure"
)

// setting is what a person changes to have a file elsewhere.
type setting string

// ofJournals is where a process keeps its state, journals among it.
const ofJournals setting = "--state"

// classify marks an error of the file system, whose text names the file. What a
// person has to fix halts the job: a retry within seconds helps neither a full
// disk nor a missing permission.
func (s setting) classify(err error) error {
	var no syscall.Errno
	if err == nil || !errors.As(err, &no) {
		return failure.New(failure.Transient, failure.RetriesExhausted, err)
	}
	var next string
	switch no {
	case syscall.ENOSPC, syscall.EDQUOT:
		next = fmt.Sprintf("free space or set %s to another disk", s)
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		next = fmt.Sprintf("make it writable or set %s elsewhere", s)
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EFBIG:
		next = fmt.Sprintf("check %s", s)
	default:
		return failure.New(failure.Transient, failure.RetriesExhausted, err)
	}
	return failure.New(failure.Job, failure.Config, fmt.Errorf("%w: %s, then run again", err, next))
}

// unsynced marks a failed sync. It is final: the system may have dropped rows
// that it had accepted, and a second sync would not tell.
func unsynced(err error) error {
	return failure.New(failure.Job, failure.Config,
		fmt.Errorf("%w: rows may be lost: check the disk, remove the output and run again", err))
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
