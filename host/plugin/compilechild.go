// SPDX-License-Identifier: MIT

package plugin

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
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// compileEnv makes this program a child that meters and compiles a module: see CompileMain. Its value is a compileOrder.
const compileEnv = "PENSTOCK_COMPILE"

// compileOrder tells the child what to do with the module on its standard input.
type compileOrder struct {
	Dir    string        `json:"dir"` // for fillEntry
	Limits fuel.Limits   `json:"limits"`
	Time   time.Duration `json:"time"` // after which the child ends itself, in case the parent cannot
}

// Exit codes of the child. A panic's is 2.
const (
	exitCompiled = 0
	exitFailed   = 3 // the code could not be kept, say: the parent does it all itself
)

// exitRefused are its exit codes where the module is wrong. Why is on its standard output then.
var exitRefused = map[int]error{4: ErrNotWasm, 5: ErrUnsupported, 6: ErrLimit}

// compilesInChild tells that this program's main began with CompileMain: started again it would be the child.
var compilesInChild atomic.Bool

// CompileMain makes this process the child that compiles a module if it was started as one; it never returns then. A program
// whose plugins are to be compiled in a child begins its main with it, its tests their TestMain. Without it they are compiled
// in the process itself.
func CompileMain() {
	text, ok := os.LookupEnv(compileEnv)
	if !ok {
		compilesInChild.Store(true)
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
	time.AfterFunc(order.Time+time.Second, func() { os.Exit(exitFailed) })
	yield()
	wasm, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	return fillEntry(context.Background(), wasm, order.Dir, order.Limits)
}

// refused is why a child did not compile a module, in the words that compiling it here would have.
type refused struct {
	kind error
	text string
}

func (e *refused) Error() string { return e.text }
func (e *refused) Unwrap() error { return e.kind }

// compileInChild lets a child of low priority fill a folder with what comes of a module, so that metering and compiling take no
// time from the streams. It returns false where there can be no child, or where it could not do it.
func compileInChild(ctx context.Context, wasm []byte, dir string, limits fuel.Limits) (bool, error) {
	program, err := os.Executable()
	if err != nil || !compilesInChild.Load() {
		return false, nil //nolint:nilerr // without a child it is compiled here
	}
	order := compileOrder{Dir: dir, Limits: limits, Time: time.Minute}
	if deadline, ok := ctx.Deadline(); ok {
		order.Time = time.Until(deadline)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return false, err
	}
	var why, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program) // killed when ctx is done
	cmd.Env = append(os.Environ(), compileEnv+"="+string(text), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(wasm), &why, &said
	apart(cmd)
	err = cmd.Run()
	code := cmd.ProcessState.ExitCode() // -1 also where it was not started
	var end *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case exitRefused[code] != nil:
		return false, &refused{exitRefused[code], why.String()}
	case errors.As(err, &end) && (code == -1 || code == 2): // it crashed, and would take us with it
		return false, fmt.Errorf("%w: the compiler gave up: %w: %.200s", ErrUnsupported, end, strings.TrimSpace(said.String()))
	}
	return err == nil, nil
}
