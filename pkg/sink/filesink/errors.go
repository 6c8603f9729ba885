package filesink

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/spate-go/spate/pkg/failure"
)

// classify marks an error of the file system, whose text names the file. What a
// person has to mend halts the job: a retry within seconds helps neither a full
// disk nor a missing permission.
func classify(err error) error {
	var no syscall.Errno
	if err == nil || !errors.As(err, &no) {
		return failure.New(failure.Transient, failure.RetriesExhausted, err)
	}
	var next string
	switch no {
	case syscall.ENOSPC, syscall.EDQUOT:
		next = "free space or set sink.file.path to another disk"
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		next = "make it writable or set sink.file.path elsewhere"
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EFBIG:
		next = "check sink.file.path"
	default:
		return failure.New(failure.Transient, failure.RetriesExhausted, err)
	}
	return failure.New(failure.Job, failure.Config, fmt.Errorf("%w: %s, then run again", err, next))
}

// unsynced marks a failed sync. It is final: the system may have forgotten rows
// that it had taken, and a second sync would not tell.
func unsynced(err error) error {
	return failure.New(failure.Job, failure.Config,
		fmt.Errorf("%w: rows may be lost: check the disk, remove the output and run again", err))
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
