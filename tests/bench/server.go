package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"
)

const (
	accessKey = "bench"
	secretKey = "benchsecret"
)

// server is an S3 server over a directory whose folders are buckets.
type server struct {
	url  string
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan struct{} // closed once the process ended
}

// serve starts program over dir on a free port of the loopback interface.
func serve(ctx context.Context, program, dir string) (*server, error) {
	if program == "" {
		return nil, errors.New("neither -server nor -endpoint: run make bench")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s := &server{url: "http://" + addr, done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, "--port", addr, "--access", accessKey, "--secret", secretKey, "--keep-alive", "--quiet", "posix", dir)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 5 * time.Second
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the S3 server: %w", err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	if err := s.ready(ctx, addr); err != nil {
		s.stop()
		return nil, fmt.Errorf("start the S3 server: %w: %s", err, &s.log)
	}
	return s, nil
}

// ready waits until the server accepts connections.
func (s *server) ready(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: time.Second}
	for range 100 {
		if c, err := d.DialContext(ctx, "tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-s.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("it does not answer")
}

// stop ends the server and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(5 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}
