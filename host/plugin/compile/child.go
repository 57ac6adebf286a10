// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// compileEnv makes this program a child that meters and compiles a module: see Main. Its value is a compileOrder.
const compileEnv = "PENSTOCK_COMPILE"

// compileOrder tells the child what to do with the module on its standard input.
type compileOrder struct {
	Dir     string        `json:"dir"`     // for fillEntry
	Version string        `json:"version"` // the parent's: see version
	Limits  fuel.Limits   `json:"limits"`
	Time    time.Duration `json:"time"` // after which the child ends itself, in case the parent cannot
}

// Exit codes of the child. A panic's is 2.
const (
	exitCompiled = 0
	exitFailed   = 3 // not the module's fault, such as a full disk: the parent compiles it
)

// exitRefused are its exit codes where the module is wrong. The reason is on its standard output then.
var exitRefused = map[int]error{4: plugin.ErrNotWasm, 5: plugin.ErrUnsupported, 6: plugin.ErrLimit}

// canStartChild tells that this program's main begins with Main, so that this program, started again, is the child.
var canStartChild atomic.Bool

// Main does not return in a process that was started as a child to compile a module. A program whose plugins are to be compiled
// in a child calls it first in main, and its tests in TestMain. Without that, plugins are compiled in the process itself.
func Main() {
	text, ok := os.LookupEnv(compileEnv)
	if !ok {
		canStartChild.Store(true)
		return
	}
	err := compileAsChild(text)
	if err == nil {
		os.Exit(exitCompiled)
	}
	for code, kind := range exitRefused {
		if errors.Is(err, kind) {
			fmt.Print(err)
			os.Exit(code)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitFailed)
}

func compileAsChild(text string) error {
	var order compileOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return fmt.Errorf("%s is %q: %w", compileEnv, text, err)
	}
	if order.Version != version() {
		return fmt.Errorf("%w was started: it is %s and should be %s", errOtherVersion, version(), order.Version)
	}
	time.AfterFunc(order.Time+time.Second, func() { os.Exit(exitFailed) })
	release, err := atomicfile.Hold(order.Dir) // the parent may be killed, and the next one is not to remove it under our hands
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	defer release()
	lowerPriority()
	wasm, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	collectLate()
	// Of low priority, it may use all processors.
	return fillEntry(experimental.WithCompilationWorkers(context.Background(), max(2, runtime.GOMAXPROCS(0))), wasm, order.Dir, order.Limits)
}

// childMemory is how many bytes a child may have before it collects garbage. Most modules need less, and collecting would take a
// third of the time.
const childMemory = 128 << 20

// collectLate puts off the first collection until then. From there on the garbage collector works as usual.
func collectLate() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(childMemory)
	runtime.AddCleanup(new([64]byte), func(int) { // the first collection frees it
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(100)
	}, 0)
}

// childError is why a child refused a module, in the words that this process would use.
type childError struct {
	kind error
	text string
}

func (e *childError) Error() string { return e.text }
func (e *childError) Unwrap() error { return e.kind }

// compileInChild has a child of low priority fill a folder, so that metering and compiling take no time from the streams. It
// returns false, with a line in the log, where the child failed.
func (c *Compiler) compileInChild(ctx context.Context, wasm []byte, dir string) (bool, error) {
	order := compileOrder{Dir: dir, Version: version(), Limits: c.limits, Time: time.Minute}
	if deadline, ok := ctx.Deadline(); ok {
		order.Time = time.Until(deadline)
	}
	end := runChild(ctx, wasm, order)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case exitRefused[end.code] != nil:
		return false, &childError{exitRefused[end.code], end.stdout}
	case errors.As(end.err, &exit) && (end.code == -1 || end.code == 2): // it crashed, and would take us with it
		return false, fmt.Errorf("%w: the compiler gave up: %w: %s", plugin.ErrUnsupported, exit, end.stderr)
	case end.err != nil:
		c.log.Warn("a plugin is compiled in the server itself, since a child could not", "code", end.code, "error", end.err, "said", end.stderr)
	}
	return end.err == nil, nil
}

// childEnd is how a child ended.
type childEnd struct {
	code   int // -1 also if it was not started
	err    error
	stdout string // why it refused the module
	stderr string // the beginning
}

// runChild starts this program as a child and waits for its end.
func runChild(ctx context.Context, wasm []byte, order compileOrder) childEnd {
	program, err := os.Executable()
	text, err2 := json.Marshal(order)
	if err := errors.Join(err, err2); err != nil {
		return childEnd{code: -1, err: err}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program) // killed when ctx is done
	cmd.Env = append(os.Environ(), compileEnv+"="+string(text), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(wasm), &stdout, &stderr
	ownGroup(cmd)
	err = cmd.Run()
	return childEnd{cmd.ProcessState.ExitCode(), err, stdout.String(), fmt.Sprintf("%.200s", strings.TrimSpace(stderr.String()))}
}
