package lambdakit

import (
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// process is one life of a function's bootstrap.
type process struct {
	command *exec.Cmd
	started time.Time
	boot    time.Duration    // until it first asked; read by Invoke alone
	asked   chan struct{}    // signalled when it asks for an event
	next    chan *invocation // events for it
	failed  chan string      // the error of its init
	ended   chan struct{}    // closed when it is gone

	mu      sync.Mutex
	current *invocation // guarded by mu
	serial  int
}

func newProcess() *process {
	return &process{
		asked: make(chan struct{}, 1), next: make(chan *invocation),
		failed: make(chan string, 1), ended: make(chan struct{}),
	}
}

func (p *process) reap() {
	_ = p.command.Wait() // its outcome is what it reported
	close(p.ended)
}

func (p *process) wait() { <-p.ended }

// served reports whether it was given an event.
func (p *process) served() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serial > 0
}

// kill reports whether the signal found the process running.
func (p *process) kill() bool {
	select {
	case <-p.ended:
		return false
	default:
	}
	struck := p.command.Process.Signal(syscall.SIGKILL) == nil
	p.wait()
	return struck
}

// killed reports whether SIGKILL ended the process, which has ended.
func (p *process) killed() bool {
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// api is the Runtime API, four routes.
func (f *Function) api() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		if p := f.running(); p != nil {
			p.give(w, r)
		}
	})
	m.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		f.answered(w, r, Outcome{Response: []byte(body(r))})
	})
	m.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		f.answered(w, r, Outcome{Error: body(r)})
	})
	m.HandleFunc("POST /2018-06-01/runtime/init/error", func(w http.ResponseWriter, r *http.Request) {
		if p := f.running(); p != nil {
			p.failed <- body(r)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return m
}

func (f *Function) running() *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.process
}

// give answers a request for the next event once there is one.
func (p *process) give(w http.ResponseWriter, r *http.Request) {
	if !p.served() {
		p.boot = time.Since(p.started)
	}
	p.asked <- struct{}{}
	select {
	case i := <-p.next:
		p.mu.Lock()
		p.serial++
		p.current = i
		id := strconv.Itoa(p.serial)
		p.mu.Unlock()
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:test")
		_, _ = w.Write(i.event) // a process that is gone shows as ended
	case <-r.Context().Done():
	case <-p.ended:
	}
}

func (f *Function) answered(w http.ResponseWriter, r *http.Request, o Outcome) {
	if p := f.running(); p != nil {
		p.mu.Lock()
		if p.current != nil && r.PathValue("id") == strconv.Itoa(p.serial) {
			p.current.answer <- o
			p.current = nil
		}
		p.mu.Unlock()
	}
	w.WriteHeader(http.StatusAccepted)
}
