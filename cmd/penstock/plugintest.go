// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/penstock/penstock/host/author/check"
	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/plugin/load"
	interpreter "github.com/penstock/penstock/plugins/script"
)

// testFlags are the flags of `plugin test`.
type testFlags struct {
	debug, json bool
	update      bool
	config      string
	replay      string // a session file; empty: none
	cases       string // the folder of the golden cases; empty: the module's own
	check       check.Options
}

// testReport is the result of `plugin test`.
type testReport struct {
	Module string             `json:"module"` // the file
	Checks []*check.Report    `json:"checks"` // one for each configuration of the cases
	Cases  []check.CaseResult `json:"cases"`

	configs []json.RawMessage // of the checks; empty: none
}

func newPluginTest() *cobra.Command {
	var flags testFlags
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE]",
		Short: "Build a plugin and try it under the real runtime",
		Long: `Build a plugin's project (the current folder, or DIR) and try it under the real runtime, with its limits of fuel and time; or try a
module or a script, FILE.

It is tried on a made-up model, as 'plugin check' does: does it trap, answer wrongly, leak, or come out differently a second time? Then
the golden cases are played, the session files cases/*.json of a project or FILE.cases/*.json: what went into each call and what is to
come out. --update writes into them what the plugin does now.

With --replay the calls of a session file are made once more instead, such as those of a request with "record": true, and the first
that comes out differently is shown. No model is needed. In place of FILE, "script" plays the scripts that a request brought.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.update && flags.replay != "" {
				return usageError{errors.New("--update writes golden cases, and --replay only plays a file; give one of them")}
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return testPlugin(ctx, cmd, args, flags)
		},
	}
	addDebugFlag(cmd, &flags.debug)
	addCheckFlags(cmd, &flags.check, &flags.config)
	cmd.Flags().StringVar(&flags.replay, "replay", "", "a session `FILE` whose calls are made once more")
	cmd.Flags().StringVar(&flags.cases, "cases", "", "the `FOLDER` of the golden cases")
	cmd.Flags().BoolVar(&flags.update, "update", false, "write into the golden cases what the plugin does now")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

func testPlugin(ctx context.Context, cmd *cobra.Command, args []string, flags testFlags) error {
	if flags.replay != "" && slices.Equal(args, []string{interpreter.Name}) {
		return replayPlugin(ctx, cmd, interpreter.Name, flags.replay, flags.json)
	}
	file, folder, err := moduleOf(ctx, cmd, args, flags.debug)
	if err != nil {
		return err
	}
	if flags.replay != "" {
		return replayPlugin(ctx, cmd, file, flags.replay, flags.json)
	}
	from, err := load.ReadFile(file)
	if err != nil {
		return err
	}
	named := lines.Of(from.Content)
	cmd.SetOut(named.Writer(cmd.OutOrStdout()))
	cases, err := check.ReadCases(cmp.Or(flags.cases, folder))
	if err != nil {
		return err
	}
	flags.check.CacheDir = codeCache()
	report := testReport{Module: file}
	if err := report.check(ctx, from, flags, cases); err != nil {
		return fmt.Errorf("%s: %w", file, named.Err(err))
	}
	for _, c := range cases {
		results, err := c.Run(ctx, from, flags.check.CacheDir, flags.update)
		if err != nil {
			return named.Err(err)
		}
		report.Cases = append(report.Cases, results...)
	}
	if flags.json {
		err = printJSON(cmd, report)
	} else {
		err = report.print(cmd.OutOrStdout())
	}
	return errors.Join(err, report.verdict())
}

// check tries the module with each configuration of its cases, or with the one that was given, all
// at once.
func (r *testReport) check(ctx context.Context, from load.File, flags testFlags, cases []check.Case) error {
	r.configs = check.Configs(cases)
	if flags.config != "" || len(r.configs) == 0 {
		r.configs = []json.RawMessage{[]byte(flags.config)}
	}
	r.Checks = make([]*check.Report, len(r.configs))
	tries, ctx := errgroup.WithContext(ctx)
	tries.SetLimit(runtime.GOMAXPROCS(0))
	for i, config := range r.configs {
		o := flags.check
		o.Config = config
		tries.Go(func() (err error) {
			r.Checks[i], err = check.Module(ctx, from, o)
			return err
		})
	}
	return tries.Wait()
}

// print writes a report for people.
func (r *testReport) print(to io.Writer) error {
	for i, c := range r.Checks {
		if config := r.configs[i]; len(config) > 0 {
			fmt.Fprintf(to, "with the config %s:\n", config)
		}
		if err := c.Print(to); err != nil {
			return err
		}
	}
	for _, c := range r.Cases {
		if _, err := fmt.Fprintln(to, c); err != nil {
			return err
		}
	}
	return nil
}

// verdict is the error of what is wrong.
func (r *testReport) verdict() error {
	for _, c := range r.Checks {
		if len(c.Findings) > 0 {
			return fmt.Errorf("%s: %w", r.Module, errFindings)
		}
	}
	for _, c := range r.Cases {
		if c.Difference != nil {
			return fmt.Errorf("%s: %w; fix the plugin, or the case (--update writes what the plugin does now)", r.Module, errCases)
		}
	}
	return nil
}

var errCases = errors.New("the plugin does not do what its golden cases say")
