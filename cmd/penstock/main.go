// SPDX-License-Identifier: MIT

// Command penstock serves language models to browsers, scripts and OpenAI clients, and answers in
// the terminal.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

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

// signalled is the cause of a context that a signal has ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string {
	if s.Signal == syscall.SIGHUP {
		return "SIGHUP, which ends the server as SIGTERM does; files of keys and certificates are read again without it"
	}
	return "signal: " + s.String()
}

func newRoot() *cobra.Command {
	root := newGroup("penstock", "A programmable host for language models",
		newServe(), newWorker(), newRun(), newEmbed(), newModel(), newPlugin(), newReceipt(), newWatermark(), newBench(), newConfig(), newDoctor(), newHealth(), newVersion())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlags)
	// Cobra returns what is wrong with flags together, such as two that exclude each other, as any
	// failure of the command. So it is looked for first.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
			return wrongFlags(cmd, err)
		}
		return nil
	}
	showVersion := root.Flags().Bool("version", false, "print the versions, as the command version does")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *showVersion {
			return newVersion().RunE(cmd, args)
		}
		return help(cmd, args)
	}
	return root
}

// wrongFlags says where the flags of a command are explained.
func wrongFlags(cmd *cobra.Command, err error) error {
	return usageError{fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())}
}

// newGroup is a command that only holds others. Alone it prints its help; with anything else it is
// wrong use.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = fmt.Sprintf("did you mean '%s %s'?", cmd.CommandPath(), strings.Join(near, "' or '"))
			}
			return usageError{fmt.Errorf("unknown command %q for '%s'; %s", args[0], cmd.CommandPath(), hint)}
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	g.AddCommand(commands...)
	return g
}

// atMost allows up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError{fmt.Errorf("unexpected argument %q; usage: %s", args[n], cmd.UseLine())}
	}
}

// exactly requires n arguments.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError{fmt.Errorf("an argument is missing; usage: %s", cmd.UseLine())}
		}
		return atMost(n)(cmd, args)
	}
}

var (
	// errUsage marks wrong use of a command: exit code 2.
	errUsage = errors.New("wrong use")
	// errReported is a failure whose report has been printed already.
	errReported = errors.New("reported")
)

// usageError marks err as wrong use without changing its text.
type usageError struct{ err error }

func (e usageError) Error() string   { return e.err.Error() }
func (e usageError) Unwrap() []error { return []error{e.err, errUsage} }

// build describes this binary.
type build struct {
	Penstock   string `json:"penstock"`
	LlamaCPP   string `json:"llama_cpp"`
	Backend    string `json:"backend"`             // of llama.cpp: cpu, cuda, ...
	OwnKernels bool   `json:"own_kernels"`         // whether it contains Penstock's CPU kernels
	CPULevel   string `json:"cpu_level,omitempty"` // that the kernels in use are for; empty: the build is for one CPU
	BuildStamp string `json:"build_stamp"`         // a hash of llama.cpp's source, our shim, flags and compiler
	Go         string `json:"go"`
	Wazero     string `json:"wazero,omitempty"` // empty: plugins are not built in
	Platform   string `json:"platform"`
}

func describeBuild() build {
	stamp, backend := native.Build()
	level, _ := native.Level()
	return build{
		Penstock: version, LlamaCPP: native.Version(), Backend: backend, OwnKernels: native.HasOwnKernels(), CPULevel: level.Used, BuildStamp: stamp,
		Go: runtime.Version(), Wazero: moduleVersion("github.com/tetratelabs/wazero"),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func kernelsText(own bool) string {
	if own {
		return "with Penstock's kernels"
	}
	return "without Penstock's kernels (PENSTOCK_KERNELS=OFF)"
}

// moduleVersion is the version of a module in this binary, or empty if it is not linked.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Penstock and what is in it",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := describeBuild()
			if asJSON {
				return printJSON(cmd, b)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "penstock %s %s\n", b.Penstock, b.Platform)
			fmt.Fprintf(out, "llama.cpp %s, backend %s, %s, build %s\n", b.LlamaCPP, b.Backend, kernelsText(b.OwnKernels), b.BuildStamp)
			if b.Wazero != "" {
				fmt.Fprintf(out, "wazero %s\n", b.Wazero)
			}
			_, err := fmt.Fprintln(out, b.Go)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printJSON prints a result for scripts.
func printJSON(cmd *cobra.Command, v any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// atLeastOne allows one argument or more.
func atLeastOne(cmd *cobra.Command, args []string) error {
	return exactly(1)(cmd, args[:min(1, len(args))])
}

// printable is a text of a stranger as one line, without what a terminal would obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) && !unicode.Is(unicode.Zl, r) && !unicode.Is(unicode.Zp, r) {
			return r
		}
		return ' '
	}, text)
}

// printableLines is a text of several lines, each of them printable.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
