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
	"github.com/penstock/penstock/host/spawn"
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
	end := runChild(ctx, wasm, compileOrder{Dir: dir, Version: version(), Limits: c.limits, Bounds: c.bounds})
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
		c.log.Warn("a child could not compile a plugin, which the server then does itself unless a client brings it", "code", end.code, "error", end.err, "said", end.stderr)
	}
	return end.err == nil, nil
}

// inherited are the environment variables of this process that a child has too: what Go and the
// loader of shared libraries read. Keys and tokens are not among them.
var inherited = []string{"GODEBUG", "GOMAXPROCS", "GOCOVERDIR", "GORACE", "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}

// childEnd is how a child ended.
type childEnd struct {
	code   int // -1 also if it was not started
	err    error
	stdout string // why it refused the module
	stderr string // the beginning
}

// runChild starts this program to carry out an order, and waits for its end. It is killed when ctx
// is done.
func runChild(ctx context.Context, wasm []byte, o compileOrder) childEnd {
	program, err := os.Executable()
	if err != nil {
		return childEnd{code: -1, err: err}
	}
	order, err := json.Marshal(o)
	if err != nil {
		return childEnd{code: -1, err: err}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, childCommand)
	cmd.Env = childEnvironment()
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(order, '\n')), bytes.NewReader(wasm))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ownGroup(cmd)
	err = cmd.Run()
	return childEnd{cmd.ProcessState.ExitCode(), err, stdout.String(), fmt.Sprintf("%.200s", strings.TrimSpace(stderr.String()))}
}

func childEnvironment() []string {
	env := []string{spawn.Mark(childCommand), "GOTRACEBACK=none"}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
