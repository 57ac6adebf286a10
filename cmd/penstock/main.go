// SPDX-License-Identifier: MIT

// Command penstock serves language models to browsers, scripts and OpenAI clients, and answers in
// the terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
)

// version is set by the linker.
var version = "unknown"

// Exit codes of every command.
const (
	exitDone     = 0
	exitFailed   = 1
	exitWrongUse = 2
)

func main() {
	local.Init()
	spawn.Run(compute.Child())
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs one command and returns its exit code. Results go to out; progress, logs and errors
// to errOut.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	if _, err := native.Level(); err != nil {
		fmt.Fprintf(errOut, "penstock: %v\n", err)
		return exitWrongUse
	}
	root := newRoot()
	if len(args) > 0 && (args[0] == "serve" || args[0] == "doctor") {
		if err := config.CheckAbsent(args); err != nil {
			fmt.Fprintf(errOut, "penstock: %v\n", err)
			return exitWrongUse
		}
		args = config.Respell(args)
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errReported) {
		return exitFailed
	}
	fmt.Fprintf(errOut, "penstock: %s\n", printableLines(plugin.Told(err))) // servers and guests may have their say in it
	if errors.Is(err, errUsage) {
		return exitWrongUse
	}
	return exitFailed
}

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with that as the
// cause. The second ends the process at once. SIGHUP, as of a terminal that is closed, reloads
// nothing: the files that may change are read again by themselves. Under nohup it stays ignored.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, end := context.WithCancelCause(ctx)
	got := make(chan os.Signal, 1)
	signal.Notify(got, signals...)
	go func() {
		defer signal.Stop(got)
		select {
		case s := <-got:
			end(signalled{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// signalled is why a process ends.
type signalled struct{ os.Signal }

func (s signalled) Error() string {
	if s.Signal == syscall.SIGHUP {
		return "SIGHUP, which ends the server as SIGTERM does; files of keys and certificates are read again without it"
	}
	return "signal: " + s.String()
}
