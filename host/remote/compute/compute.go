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
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// socketFile is the number of the socket in the process of a connection: the first after the three
// standard ones.
const socketFile = 3

// Child returns the command by which this program becomes the process of a connection, and what
// carries it out and returns the exit code. A program that calls Start has the command.
func Child() (command string, run func(args []string) int) { return childCommand, runChild }

func runChild(args []string) int {
	err := fmt.Errorf("%s has %q; it is what Penstock starts itself with", childCommand, args)
	if len(args) == 1 {
		err = serve(args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve tells the parent of the devices and lets ggml compute with them until the parent closes
// the socket.
func serve(text string) error {
	var o Options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("the options of %s: %w", childCommand, err)
	}
	native.UseKernels(o.Kernels)
	native.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	devices, err := chooseDevices(o.Devices)
	if err != nil {
		return err
	}
	limitMemory(devices, o.Memory)
	line, err := json.Marshal(devices)
	if err != nil {
		return err
	}
	socket := os.NewFile(socketFile, "socket")
	if _, err := socket.Write(append(line, '\n')); err != nil {
		return err
	}
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.Name
	}
	threads := o.Threads
	if threads == 0 {
		threads = native.PhysicalCores()
	}
	return native.ServeDevices(socket.Fd(), names, threads, o.Cache)
}

// limitMemory has devices that use this machine's main memory offer no more of it than this process
// may take: ggml knows of no limits.
func limitMemory(devices []remote.Device, memory uint64) {
	for i := range devices {
		if d := &devices[i]; d.Kind == "cpu" && memory > 0 && memory < d.Free {
			d.Free = memory
		}
	}
}

// chooseDevices finds the devices of this machine by name. Without names they are all GPUs, or
// where there is none the CPU.
func chooseDevices(names []string) ([]remote.Device, error) {
	all, err := native.Devices()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, d := range all {
			if d.Kind == "gpu" || d.Kind == "igpu" {
				names = append(names, d.Name)
			}
		}
	}
	var found []remote.Device
	for _, d := range all {
		if slices.Contains(names, d.Name) || len(names) == 0 && d.Kind == "cpu" {
			found = append(found, remote.Device{Name: d.Name, Description: d.Description, Backend: d.Backend, Kind: d.Kind, Free: d.Free, Total: d.Total})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(d remote.Device) bool { return d.Name == name }) {
			return nil, fmt.Errorf("--device names %q, which is no device of this machine; penstock doctor lists them", name)
		}
	}
	return found, nil
}

// Cache is a folder of weights that hosts have sent, so that they need not send them again. ggml's
// server writes and reads the files, whose names are the FNV-1a hashes of their contents. It
// writes them in place and trusts what is there, so one that was cut short, because the process
// was killed or the disk was full, would become wrong weights without a word. CheckNew keeps that
// from happening.
type Cache struct {
	Folder string // empty: there is none
	mu     sync.Mutex
}

const (
	// checkedMark is a file whose time says that all files from before it were checked.
	checkedMark = ".checked"
	// clockSlack is how much older than it is a file system may say a file is.
	clockSlack = 2 * time.Second
)

var cacheName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// CheckNew removes those files of the folder that are not what their names say, among those that
// were written since it was called last. It returns how many it removed.
func (c *Cache) CheckNew() (removed int, err error) {
	if c.Folder == "" {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return 0, err
	}
	mark := filepath.Join(c.Folder, checkedMark)
	var since time.Time
	if info, err := os.Stat(mark); err == nil {
		since = info.ModTime().Add(-clockSlack)
	}
	begin := time.Now()
	files, err := os.ReadDir(c.Folder)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!cacheName.MatchString(f.Name()) || info.ModTime().Before(since)) {
			continue
		}
		path := filepath.Join(c.Folder, f.Name())
		if hash, err := hashOf(path); err == nil && hash == f.Name() {
			continue
		}
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("%s is damaged: %w", path, err)
		}
		removed++
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return removed, err
	}
	return removed, os.Chtimes(mark, begin, begin)
}

// hashOf is the name that a file of the cache should have.
func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := fnv.New64a()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", sum.Sum64()), nil
}
