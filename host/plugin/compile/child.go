// SPDX-License-Identifier: MIT

package compile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/native/cgroup"
)

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

// exitRefused are its exit codes where the module is wrong. The reason is on its standard output
// then.
var exitRefused = map[int]error{4: plugin.ErrNotWasm, 5: plugin.ErrUnsupported, 6: plugin.ErrLimit}

// canStartChild tells that this program has the command.
var canStartChild atomic.Bool

// Child returns the command by which this program compiles a plugin in a child process, and what
// carries it out, which gives the exit code. A program that asks for it has the command from then
// on; one that does not compiles plugins in its own process.
func Child() (command string, run func(args []string) int) {
	canStartChild.Store(true)
	return childCommand, func([]string) int {
		return endedWith(compileAsChild(bufio.NewReader(os.Stdin)))
	}
}

// endedWith tells the parent why the child ends, and is the child's exit code.
func endedWith(err error) int {
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

// compileAsChild reads an order and carries it out. Of low priority, it may use all processors.
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
	order.Bounds.keep(func(err error) { os.Exit(endedWith(err)) })
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

// keepWithin has this process use no more processors at once than its control groups allow on
// average. Beyond that the kernel stops all that is in them for a while, the streams' server, too,
// and priority does not matter.
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
