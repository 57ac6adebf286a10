// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/penstock/penstock/host/plugin"
)

// childError is why a child refused a module, in the words that this process would use.
type childError struct {
	kind error
	text string
}

func (e *childError) Error() string { return e.text }
func (e *childError) Unwrap() error { return e.kind }

// compileInChild has a child of low priority fill a folder, so that metering and compiling take no
// time from the streams. It returns false, with a line in the log, where the child failed.
func (c *Compiler) compileInChild(ctx context.Context, wasm []byte, dir string) (bool, error) {
	end := c.spare.run(ctx, wasm, compileOrder{Dir: dir, Version: version(), Limits: c.limits, Bounds: c.bounds})
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case exitRefused[end.code] != nil:
		return false, &childError{exitRefused[end.code], end.stdout}
	case end.code == 2 && strings.Contains(end.stderr, "out of memory"): // limitData's doing
		return false, fmt.Errorf("%w: compiling takes too much memory; make the module smaller, or its largest functions", plugin.ErrLimit)
	case errors.As(end.err, &exit) && end.code != exitFailed: // it crashed, and would take us with it
		return false, fmt.Errorf("%w: the compiler gave up: %w: %s", plugin.ErrUnsupported, exit, end.stderr)
	case end.err != nil:
		c.log.Warn("a plugin is compiled in the server itself, since a child could not", "code", end.code, "error", end.err, "said", end.stderr)
	}
	return end.err == nil, nil
}

// child is this program, started to compile one module.
type child struct {
	cmd            *exec.Cmd
	in             io.WriteCloser
	stdout, stderr bytes.Buffer
}

// inherited are the environment variables of this process that a child has too: what Go and the
// loader of shared libraries read. Keys and tokens are not among them.
var inherited = []string{"GODEBUG", "GOMAXPROCS", "GOCOVERDIR", "GORACE", "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}

// startChild starts this program. Without an order it waits for one, and ends when this process
// does.
func startChild() (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	k := &child{cmd: exec.Command(program)}
	k.cmd.Env = []string{compileEnv + "=1", "GOTRACEBACK=none"}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			k.cmd.Env = append(k.cmd.Env, name+"="+value)
		}
	}
	k.cmd.Stdout, k.cmd.Stderr = &k.stdout, &k.stderr
	ownGroup(k.cmd)
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return k, k.cmd.Start()
}

// order gives the child its order. After an error it is gone, as if it had never been there.
func (k *child) order(o compileOrder) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = k.in.Write(append(text, '\n'))
	return err
}

// dismiss ends a child that has no order. The kernel may have ended it already.
func (k *child) dismiss() {
	_ = k.in.Close()
	_ = k.cmd.Wait()
}

// childEnd is how a child ended.
type childEnd struct {
	code   int // -1 also if it was not started
	err    error
	stdout string // why it refused the module
	stderr string // the beginning
}

// compile gives a child that has its order the module, and waits for its end. It is killed when
// ctx is done.
func (k *child) compile(ctx context.Context, wasm []byte) childEnd {
	stop := context.AfterFunc(ctx, func() { _ = k.cmd.Process.Kill() })
	defer stop()
	_, writing := k.in.Write(wasm) // fails where the child refuses the order: its own words are the ones to tell
	_ = k.in.Close()
	err := k.cmd.Wait()
	if err == nil {
		err = writing
	}
	return childEnd{k.cmd.ProcessState.ExitCode(), err, k.stdout.String(), fmt.Sprintf("%.200s", strings.TrimSpace(k.stderr.String()))}
}
