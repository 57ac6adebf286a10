// SPDX-License-Identifier: MIT

// Package compute is the process in which a worker's devices compute for one connection of a host:
// this program, started again, with ggml's server in it.
package compute

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
)

// childCommand is the command with which this program starts itself as the process of a connection.
// It has Options, as JSON.
const childCommand = "compute"

// Options say what a connection's process computes with.
type Options struct {
	Devices []string `json:"devices,omitempty"` // by name; none: all but the CPU, or if there is no other, the CPU
	Threads int      `json:"threads,omitempty"` // of the CPU; 0: its physical cores
	Cache   string   `json:"cache,omitempty"`   // a folder for weights that were sent once; empty: they are sent each time
	Memory  uint64   `json:"memory,omitempty"`  // bytes that the CPU may use; 0: what it says itself
	// Kernels of the CPU that may compute.
	Kernels native.KernelSet `json:"kernels"`
}

// grace is how long a process may take to end once its host has gone.
const grace = 2 * time.Second

type process struct {
	cmd    *exec.Cmd
	conn   net.Conn
	stderr *excerpt.Tail
	ended  chan struct{} // closed once it has
	err    error         // how
	close  func() error
}

// lines logs what a process prints.
type lines struct {
	log  *slog.Logger
	rest []byte // of a line that is not complete
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, complete := bytes.Cut(l.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		l.log.Debug(string(line), slog.String("from", "ggml's server"))
		l.rest = rest
	}
}

// Start starts a connection's process, and logs what it prints.
func Start(o Options, log *slog.Logger) (remote.Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	conn, socket, err := remote.SocketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = socket.Close() }()
	p := &process{cmd: exec.Command(program, childCommand, string(options)), conn: conn, stderr: excerpt.NewTail(64 << 10), ended: make(chan struct{})}
	// A connection must not wait for gdb, which ggml starts to print a stack when it aborts.
	p.cmd.Env = append(os.Environ(), spawn.Mark(childCommand), "GGML_NO_BACKTRACE=1", "GOTRACEBACK=none")
	p.cmd.Stdout, p.cmd.Stderr = &lines{log: log}, io.MultiWriter(&lines{log: log}, p.stderr)
	p.cmd.ExtraFiles = []*os.File{socket}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start this program again: %w", err), conn.Close())
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	p.close = sync.OnceValue(p.end)
	return p, nil
}

// Probe starts a process as Start does and returns the devices that it finds.
func Probe(o Options, log *slog.Logger) (devices []remote.Device, err error) {
	child, err := Start(o, log)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(child.Conn()).ReadBytes('\n')
	ended := child.Close()
	switch {
	case ended != nil:
		return nil, ended
	case err != nil:
		return nil, err
	}
	return devices, json.Unmarshal(line, &devices)
}

// Conn implements remote.Child.
func (p *process) Conn() net.Conn { return p.conn }

// Close implements remote.Child.
func (p *process) Close() error { return p.close() }

func (p *process) end() error {
	_ = p.conn.Close()
	select {
	case <-p.ended:
	case <-time.After(grace): // it computes, or a driver hangs
		_ = p.cmd.Process.Kill()
		<-p.ended
		return nil
	}
	if p.err == nil {
		return nil
	}
	if words := p.stderr.LastWords(); words != "" {
		return errors.New(words)
	}
	return p.err
}
