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
)

// compileEnv makes this program a child that compiles a module: see CompileMain. Its value is a compileOrder.
const compileEnv = "PENSTOCK_COMPILE"

// compileOrder tells the child what to do with the module on its standard input.
type compileOrder struct {
	Dir   string        `json:"dir"`   // where the code is to be kept
	Pages uint32        `json:"pages"` // of the module's memory at most
	Time  time.Duration `json:"time"`  // after which the child ends itself, in case the parent cannot
}

// Exit codes of the child. A panic's is 2.
const (
	exitCompiled = 0
	exitRefused  = 3 // the module is wrong, or the code could not be written: the parent finds out again what it is
)

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
	if err := compileAsChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitRefused)
	}
	os.Exit(exitCompiled)
}

func compileAsChild(text string) error {
	var order compileOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return fmt.Errorf("%s is %q: %w", compileEnv, text, err)
	}
	time.AfterFunc(order.Time+time.Second, func() { os.Exit(exitRefused) })
	yield()
	wasm, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	e, err := newEngine(context.Background(), wasm, order.Dir, order.Pages)
	if err != nil {
		return err
	}
	return e.close()
}

// compileInChild lets a child of low priority fill a folder with a module's code, so that compiling takes no time from the
// streams. It is no error where there can be no child, or where the child refuses the module: compiling it here tells why.
func compileInChild(ctx context.Context, wasm []byte, dir string, pages uint32) error {
	program, err := os.Executable()
	if err != nil || !compilesInChild.Load() {
		return nil //nolint:nilerr // without a child it is compiled here
	}
	order := compileOrder{Dir: dir, Pages: pages, Time: time.Minute}
	if deadline, ok := ctx.Deadline(); ok {
		order.Time = time.Until(deadline)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program) // killed when ctx is done
	cmd.Env = append(os.Environ(), compileEnv+"="+string(text), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(wasm), &said
	apart(cmd)
	err = cmd.Run()
	var end *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &end) && (end.ExitCode() == -1 || end.ExitCode() == 2): // it crashed, and would take us with it
		return fmt.Errorf("%w: the compiler gave up: %w: %.200s", ErrUnsupported, end, strings.TrimSpace(said.String()))
	}
	return nil
}
