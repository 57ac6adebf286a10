// SPDX-License-Identifier: MIT

package compile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native/cgroup"
)

// childError is a child's refusal of a module, in the words that this process would use.
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
	case end.code == 2 && strings.Contains(end.stderr, "out of memory"): // because of limitData
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

// childCommand is the command with which this program starts itself to meter and compile a module.
// A compileOrder, as a line of JSON, and then the module come on the child's standard input.
const childCommand = "compile"

// compileOrder tells the child what to do with the module.
type compileOrder struct {
	Dir     string      `json:"dir"`     // for fillEntry
	Version string      `json:"version"` // the parent's: see version
	Limits  fuel.Limits `json:"limits"`
	Bounds  bounds      `json:"bounds"`
}

// Exit codes of the child. A panic's is 2.
const (
	exitCompiled = 0
	exitFailed   = 3 // not the module's fault, such as a full disk: the parent compiles it
)

// exitRefused maps the child's exit codes for a wrong module to errors. The reason is on its
// standard output.
var exitRefused = map[int]error{4: plugin.ErrNotWasm, 5: plugin.ErrUnsupported, 6: plugin.ErrLimit}

// canStartChild tells that this program has the command.
var canStartChild atomic.Bool

// Child returns the command by which this program compiles a plugin in a child process, and what
// carries it out, which gives the exit code. A program that asks for it has the command from then
// on; one that does not compiles plugins in its own process.
func Child() (command string, run func(args []string) int) {
	canStartChild.Store(true)
	return childCommand, func([]string) int {
		return reportEnd(compileAsChild(bufio.NewReader(os.Stdin)))
	}
}

// reportEnd tells the parent why the child ends, and returns the child's exit code.
func reportEnd(err error) int {
	if err == nil {
		return exitCompiled
	}
	for code, kind := range exitRefused {
		if errors.Is(err, kind) {
			fmt.Print(err)
			return code
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return exitFailed
}

// compileAsChild reads an order and carries it out. It may use all processors, since its priority
// is low.
func compileAsChild(in *bufio.Reader) error {
	lowerPriority()
	keepWithin(cgroup.Processors())
	line, err := in.ReadBytes('\n')
	var order compileOrder
	if err := errors.Join(err, json.Unmarshal(line, &order)); err != nil {
		return fmt.Errorf("the order is %.200q: %w", line, err)
	}
	if order.Version != version() {
		return fmt.Errorf("%w was started: it is %s and should be %s", errOtherVersion, version(), order.Version)
	}
	order.Bounds.enforce(func(err error) { os.Exit(reportEnd(err)) })
	limitData(2 * order.Bounds.Memory)
	release, err := atomicfile.Hold(order.Dir) // the parent may be killed, and the next one is not to remove it under our hands
	if err != nil {
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	defer release()
	wasm, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	collectLate(order.Bounds.Memory)
	return fillEntry(experimental.WithCompilationWorkers(context.Background(), min(max(2, runtime.GOMAXPROCS(0)), mostWorkers)), wasm, order.Dir, order.Limits)
}

// keepWithin limits the processors that this process uses at once to what its control groups allow
// on average. Beyond that the kernel stops all processes of the groups for a while, including the
// server of the streams, whatever their priority.
func keepWithin(processors float64) {
	if n := max(1, int(min(processors, float64(runtime.GOMAXPROCS(0))))); n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// childMemory is how many bytes a child may have before it collects garbage. Most modules need
// less, and collecting would take a third of the time.
const childMemory = 128 << 20

// mostWorkers is how many functions a child compiles at a time. Each takes memory of the child's
// limit.
const mostWorkers = 8

// collectLate puts off the first collection until then. From there on the garbage collector works
// as usual, and harder near the limit.
func collectLate(limit uint64) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(childMemory)
	runtime.AddCleanup(new([64]byte), func(int) { // the first collection frees it
		debug.SetMemoryLimit(int64(limit / 4 * 3))
		debug.SetGCPercent(100)
	}, 0)
}

// lookEvery is how often a child checks what it has used. In that time it can take some 20 MiB
// more.
const lookEvery = 10 * time.Millisecond

// bounds limit what a child may use.
type bounds struct {
	Time   time.Duration `json:"time"`   // of all processors: a busy machine makes no module larger
	Memory uint64        `json:"memory"` // bytes that Go has of the system
}

// enforce watches the process in a goroutine of its own, and calls refuse with the first bound that
// is exceeded from now on. The compiler cannot be stopped, but the process can.
func (b bounds) enforce(refuse func(error)) {
	begin := processorTime()
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	go func() {
		for range time.Tick(lookEvery) {
			metrics.Read(memory)
			switch {
			case processorTime()-begin > b.Time:
				refuse(fmt.Errorf("%w: compiling takes more than %v of processor time; make the module smaller", plugin.ErrLimit, b.Time))
				return
			case memory[0].Value.Uint64()-memory[1].Value.Uint64() > b.Memory:
				refuse(fmt.Errorf("%w: compiling takes more than %d MiB of memory; make the module smaller, or its largest functions", plugin.ErrLimit, b.Memory>>20))
				return
			}
		}
	}()
}
