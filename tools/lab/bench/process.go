// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/excerpt"
)

// Command is how a server is run.
type Command struct {
	Program string
	Args    []string
	Env     []string  // nil: that of this process
	Output  io.Writer // gets all that it prints; nil: only the end is kept

	listen func(port string) []string // what makes it listen on that port of 127.0.0.1
}

// Size is what servers that are compared must have in common. 0: the server's own default.
type Size struct {
	Slots   int
	Context int // tokens for all slots together
	Threads int
}

// Penstock serves a model with `penstock serve`; more are flags of it.
func Penstock(program, model string, size Size, more ...string) Command {
	args := []string{"serve", "--log-level", "warn"}
	args = append(args, size.flags()...)
	args = append(args, more...)
	if model != "" {
		args = append(args, "--model", model)
	}
	return Command{Program: program, Args: args, listen: func(port string) []string { return []string{"--listen", "127.0.0.1:" + port} }}
}

// LlamaServer serves a model with llama-server, all else as it does by default; it may not fetch
// anything.
func LlamaServer(program, model string, size Size, more ...string) Command {
	// The stored answers of tests are found by the command line, so the order stays.
	return llama(program, model, []string{"--offline", "--no-ui", "--log-verbosity", "1"}, size, more)
}

// LlamaFork serves a model with a server that has at least llama-server's oldest flags.
func LlamaFork(program, model string, size Size, more ...string) Command {
	return llama(program, model, nil, size, more)
}

func llama(program, model string, first []string, size Size, more []string) Command {
	args := slices.Concat([]string{"--model", model}, first, size.flags(), more)
	return Command{Program: program, Args: args, listen: func(port string) []string { return []string{"--host", "127.0.0.1", "--port", port} }}
}

// flags have the same names for both servers.
func (s Size) flags() []string {
	var args []string
	for _, f := range []struct {
		name  string
		value int
	}{{"--parallel", s.Slots}, {"--ctx-size", s.Context}, {"--threads", s.Threads}} {
		if f.value != 0 {
			args = append(args, f.name, strconv.Itoa(f.value))
		}
	}
	return args
}

// Process is a server running as a child of this process.
type Process struct {
	URL string

	command *exec.Cmd
	output  *excerpt.Tail // the end of what it prints
	exited  chan struct{} // closed once it has been waited for
}

const (
	// readyWithin is how long a server may take to load its model.
	readyWithin = 3 * time.Minute
	// stopWithin is how long a server may take to end when asked to, before it is killed.
	stopWithin = 5 * time.Second
	// pollEvery is the time between two looks at whether a server is ready.
	pollEvery = 50 * time.Millisecond
)

// Start runs a server on a free port of 127.0.0.1 and waits until GET /health answers 200. The
// caller calls Stop.
func Start(ctx context.Context, c Command) (*Process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	p := &Process{URL: "http://127.0.0.1:" + port, output: excerpt.NewTail(2 << 10), exited: make(chan struct{})}
	p.command = exec.Command(c.Program, append(slices.Clone(c.Args), c.listen(port)...)...)
	p.command.Stdout = p.output
	if c.Output != nil {
		p.command.Stdout = io.MultiWriter(p.output, c.Output)
	}
	p.command.Stderr, p.command.Env = p.command.Stdout, c.Env
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	go func() {
		_ = p.command.Wait() // ProcessState tells
		close(p.exited)
	}()
	if err := p.ready(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w: %s: %w%s", ErrStart, strings.Join(p.command.Args, " "), err, p.said())
	}
	return p, nil
}

// said is the end of what the server has printed, on lines of its own.
func (p *Process) said() string {
	if text := strings.TrimSpace(p.output.String()); text != "" {
		return "\n" + text
	}
	return ""
}

// freePort finds a port nobody listens on. Another process may take it before the server does;
// then that fails to start.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	return port, err
}

func (p *Process) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("it was not ready within %v", readyWithin))
	defer stop()
	h := NewHTTP(p.URL)
	defer h.Close()
	for {
		if a, err := h.Send(ctx, Call{Method: http.MethodGet, Path: "/health"}); err == nil && a.Status == http.StatusOK {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended: %s", p.command.ProcessState)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// PID is the number of the server's process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the server has ended, by itself or by Stop.
func (p *Process) Ended() <-chan struct{} { return p.exited }

// ExitCode is that of a server that has ended; -1 if a signal has ended it.
func (p *Process) ExitCode() int { return p.command.ProcessState.ExitCode() }

// Stop ends the server, by force if it does not heed a request to.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails if it has ended
	select {
	case <-p.exited:
	case <-time.After(stopWithin):
		_ = p.command.Process.Kill() // fails if it has ended
		<-p.exited
	}
}
