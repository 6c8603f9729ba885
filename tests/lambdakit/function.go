// Package lambdakit runs a real bootstrap as Lambda would, for tests: its own
// Runtime API hands it events, a mapping polls a queue for it, and a proxy
// between it and AWS counts its calls, corrupts their responses or kills it at
// one of them.
//
// It is not Lambda: there is no sandbox and no memory limit, and it does only
// what a test tells it to.
package lambdakit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Options make a Function.
type Options struct {
	Binary  string
	Env     map[string]string // the whole environment, besides what the Runtime API needs
	Timeout time.Duration     // of an invocation; 0: a minute
	Memory  int               // MB that the function is told; 0: 1769
}

// Function is one execution environment: a process that takes one event at a
// time, started for the first event and again after it died.
type Function struct {
	opt    Options
	server *http.Server
	addr   string

	invoking sync.Mutex // held by Invoke: one event at a time

	mu      sync.Mutex
	process *process // guarded by mu; nil: none
	logs    bytes.Buffer
	starts  int
}

// Outcome is how an invocation ended.
type Outcome struct {
	Response []byte        // of a handler that returned
	Error    string        // of one that failed, as reported to the Runtime API
	Died     bool          // the process ended before it answered
	Killed   bool          // the process was ended by SIGKILL
	TimedOut bool          // it was killed because its time was over
	Init     string        // the error of a process that ended before it asked for an event
	Took     time.Duration // from the event's hand-over to the answer
	Boot     time.Duration // from the process's start to its first request for an event; 0: it was running already
}

// OK reports whether the handler returned.
func (o Outcome) OK() bool { return o.Error == "" && !o.Died && !o.TimedOut && o.Init == "" }

// Start serves the Runtime API of a function. No process runs before the first
// event. Close ends both.
func Start(o Options) (*Function, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Memory == 0 {
		o.Memory = 1769
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the Runtime API: %w", err)
	}
	f := &Function{opt: o, addr: l.Addr().String()}
	f.server = &http.Server{Handler: f.api(), ReadHeaderTimeout: time.Minute}
	go func() { _ = f.server.Serve(l) }() // until Close
	return f, nil
}

// Close kills the process and stops serving.
func (f *Function) Close() error {
	f.Kill()
	return f.server.Close()
}

// Kill sends SIGKILL to the process, if there is one, and waits for its end. It
// reports whether the process was running.
func (f *Function) Kill() bool {
	f.mu.Lock()
	p := f.process
	f.mu.Unlock()
	return p != nil && p.kill()
}

// Signal sends SIGKILL and does not wait: for a proxy that handles a call of
// that process.
func (f *Function) Signal() bool { return f.signal(syscall.SIGKILL) }

// Freeze stops the process where it is, until Thaw or its end. Freeze and Thaw
// report whether there was a process to signal.
func (f *Function) Freeze() bool { return f.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (f *Function) Thaw() bool { return f.signal(syscall.SIGCONT) }

func (f *Function) signal(s syscall.Signal) bool {
	f.mu.Lock()
	p := f.process
	f.mu.Unlock()
	return p != nil && p.command.Process.Signal(s) == nil
}

// Starts is how many processes were started so far.
func (f *Function) Starts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.starts
}

// Logs is what the processes wrote so far.
func (f *Function) Logs() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logs.String()
}

// Peak is the most memory that the running process had resident, in bytes.
func (f *Function) Peak() (int64, error) {
	f.mu.Lock()
	p := f.process
	f.mu.Unlock()
	if p == nil {
		return 0, errors.New("no process is running")
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, errors.New("no VmHWM in the process's status")
	}
	kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kb << 10, err
}

// Write takes the processes' output.
func (f *Function) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logs.Write(b)
}

// Invoke hands one event over and waits for its outcome. The error is of the
// test's own machinery, or ctx's.
func (f *Function) Invoke(ctx context.Context, event []byte) (Outcome, error) {
	f.invoking.Lock()
	defer f.invoking.Unlock()
	p, o, err := f.ready(ctx)
	if err != nil || p == nil {
		return o, err
	}
	i := &invocation{event: event, deadline: time.Now().Add(f.opt.Timeout), answer: make(chan Outcome, 1)}
	began := time.Now()
	p.next <- i
	select {
	case a := <-i.answer:
		o.Response, o.Error = a.Response, a.Error
	case <-p.ended:
		o.Died, o.Killed = true, p.killed()
		select {
		case a := <-i.answer: // it had responded
			o.Response, o.Error, o.Died, o.Killed = a.Response, a.Error, false, false
		default:
		}
	case <-time.After(time.Until(i.deadline)):
		o.TimedOut = true
		p.kill()
		o.Killed = p.killed()
	case <-ctx.Done():
		p.kill()
		return o, ctx.Err()
	}
	o.Took = time.Since(began)
	return o, nil
}

// ready returns a process that waits for an event; nil if its init failed, as
// the Outcome says.
func (f *Function) ready(ctx context.Context) (*process, Outcome, error) {
	for {
		p, err := f.alive()
		if err != nil {
			return nil, Outcome{}, err
		}
		select {
		case <-p.asked:
			o := Outcome{Boot: p.boot}
			p.boot = 0
			return p, o, nil
		case why := <-p.failed:
			p.wait()
			return nil, Outcome{Init: why}, nil
		case <-p.ended:
			if p.served() {
				continue // it panicked: its answer was its last word
			}
			return nil, Outcome{Died: true, Init: "the process ended before it asked for an event"}, nil
		case <-time.After(10 * time.Second): // Lambda's limit for init
			p.kill()
			return nil, Outcome{TimedOut: true, Init: "init took more than 10 s"}, nil
		case <-ctx.Done():
			return nil, Outcome{}, ctx.Err()
		}
	}
}

// alive returns the running process, or a new one.
func (f *Function) alive() (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.process != nil {
		select {
		case <-f.process.ended:
		default:
			return f.process, nil
		}
	}
	p := newProcess()
	env := maps.Clone(f.opt.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["AWS_LAMBDA_RUNTIME_API"] = f.addr
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = strconv.Itoa(f.opt.Memory)
	env["AWS_LAMBDA_FUNCTION_NAME"] = "test"
	env["AWS_LAMBDA_LOG_FORMAT"] = "JSON"
	env["_HANDLER"] = "bootstrap"
	p.command = exec.Command(f.opt.Binary)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		p.command.Env = append(p.command.Env, name+"="+env[name])
	}
	p.command.Stdout, p.command.Stderr = f, f
	p.started = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", f.opt.Binary, err)
	}
	go p.reap()
	f.process = p
	f.starts++
	return p, nil
}

// invocation is an event on its way through the process.
type invocation struct {
	event    []byte
	deadline time.Time
	answer   chan Outcome // holds one
}

// body reads what the function posted.
func body(r *http.Request) string {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Sprintf("unreadable: %v", err)
	}
	return string(b)
}
