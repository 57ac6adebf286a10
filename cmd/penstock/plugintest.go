// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/penstock/penstock/host/author/check"
	"github.com/penstock/penstock/host/author/cost"
	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	recorded "github.com/penstock/penstock/host/plugin/session"
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
	file, folder, err := findModule(ctx, cmd, args, flags.debug)
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

var errFindings = errors.New("something is wrong with a plugin")

func newPluginCheck() *cobra.Command {
	var asJSON bool
	var o check.Options
	var config string
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Try plugins on a made-up model: do they trap, answer wrongly, leak, or come out differently a second time",
		Args:  atLeastOne,
		RunE: func(cmd *cobra.Command, files []string) error {
			o.Config = []byte(config)
			return checkPlugins(cmd, files, o, asJSON)
		},
	}
	addCheckFlags(cmd, &o, &config)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func addCheckFlags(cmd *cobra.Command, o *check.Options, config *string) {
	cmd.Flags().StringVar(config, "plugin-config", "", "the `JSON` that a request gives the plugin")
	cmd.Flags().IntVar(&o.Conversations, "conversations", 24, "how many conversations to hold")
	cmd.Flags().IntVar(&o.Tokens, "tokens", 48, "how many tokens each has")
}

func checkPlugins(cmd *cobra.Command, files []string, o check.Options, asJSON bool) error {
	var reports []*check.Report
	var errs []error
	for _, file := range files {
		from, err := load.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		named := lines.Of(from.Content)
		r, err := check.Module(cmd.Context(), from, o)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, named.Err(err)))
			continue
		}
		for i, finding := range r.Findings {
			r.Findings[i] = named.In(finding)
		}
		if len(r.Findings) > 0 {
			errs = append(errs, fmt.Errorf("%s: %w", file, errFindings))
		}
		reports = append(reports, r)
		if !asJSON {
			errs = append(errs, r.Print(cmd.OutOrStdout()))
		}
	}
	if asJSON {
		errs = append(errs, printJSON(cmd, reports))
	}
	return errors.Join(errs...)
}

func newPluginBench() *cobra.Command {
	var debug, asJSON bool
	var o cost.Options
	var config string
	cmd := &cobra.Command{
		Use:   "bench [DIR|FILE]",
		Short: "Measure what a plugin costs a token, beside the built-in samplers",
		Long: `Build a plugin's project (the current folder, or DIR), or take a module or a script, FILE, and measure what it costs a token: the time of each call with
all of the host's work for it, fuel and memory, beside the built-in samplers on the same made-up rows of logits.

A sampler is measured on whole rows, as the first of a chain, and on the best 256 candidates, as behind top_k.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Vocabulary < 300 || o.Tokens < 1 {
				return usageError{fmt.Errorf("--vocabulary is %d and --tokens %d; they must be at least 300 and 1", o.Vocabulary, o.Tokens)}
			}
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			file, _, err := findModule(ctx, cmd, args, debug)
			if err != nil {
				return err
			}
			from, err := load.ReadFile(file)
			if err != nil {
				return err
			}
			o.Config = []byte(config)
			report, err := cost.Module(ctx, from, o)
			if err != nil {
				return fmt.Errorf("%s: %w", file, lines.Of(from.Content).Err(err))
			}
			if asJSON {
				return printJSON(cmd, report)
			}
			return report.Print(cmd.OutOrStdout())
		},
	}
	addDebugFlag(cmd, &debug)
	cmd.Flags().StringVar(&config, "plugin-config", "", "the `JSON` that the request gives the plugin")
	cmd.Flags().IntVar(&o.Vocabulary, "vocabulary", 128_256, "how many tokens the made-up model has")
	cmd.Flags().IntVar(&o.Tokens, "tokens", 400, "how many tokens are measured")
	cmd.Flags().BoolVar(&o.Alone, "alone", false, "leave the built-in samplers out, which take most of the time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

var errDiffers = errors.New("the plugin does not do what was recorded")

// replayReport is the result of `plugin test --replay`.
type replayReport struct {
	Module   string         `json:"module"` // the file
	Replay   string         `json:"replay"` // the session file
	Same     bool           `json:"same"`   // no session differs
	Sessions []replayedPart `json:"sessions"`
}

// replayedPart is one session of a file, as it came out.
type replayedPart struct {
	Session    int                  `json:"session"` // its place in the file, from 1
	Name       string               `json:"name,omitempty"`
	Calls      int                  `json:"calls"`
	SameModule bool                 `json:"same_module"` // the module is the one that was recorded
	Difference *recorded.Difference `json:"difference,omitempty"`
}

// replayPlugin plays the sessions of a file on a module.
func replayPlugin(ctx context.Context, cmd *cobra.Command, module, path string, asJSON bool) error {
	report, err := replay(ctx, cmd, module, path)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(cmd, report)
	} else {
		printReplay(cmd, report)
	}
	if err == nil && !report.Same {
		err = fmt.Errorf("%s: %w", module, errDiffers)
	}
	return err
}

func replay(ctx context.Context, cmd *cobra.Command, module, path string) (_ *replayReport, err error) {
	loaded := load.File{Base: module, Content: interpreter.Module()}
	if module != interpreter.Name {
		if loaded, err = load.ReadFile(module); err != nil {
			return nil, err
		}
	}
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := recorded.Read(from)
	_ = from.Close() // it was only read
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if loaded, err = preparePlayer(file, loaded); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	named := lines.Of(loaded.Content)
	cmd.SetOut(named.Writer(cmd.OutOrStdout()))
	player, err := recorded.NewPlayer(ctx, loaded, file, plugin.HostOptions{Interpreter: interpreter.Module})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", module, named.Err(err))
	}
	defer func() { err = errors.Join(err, player.Close()) }()
	report := &replayReport{Module: module, Replay: path, Same: true}
	var others []string
	for i := range file.Sessions {
		s := &file.Sessions[i]
		if s.Plugin.Name != player.Plugin().Name {
			others = append(others, s.Plugin.Name)
			continue
		}
		d, err := player.Play(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: sessions[%d]: %w", path, i, err)
		}
		report.Same = report.Same && d == nil
		report.Sessions = append(report.Sessions, replayedPart{i + 1, s.Name, len(s.Calls), s.Plugin.SHA256 == player.Plugin().SHA256, d})
	}
	if len(file.Sessions) == 0 {
		return nil, fmt.Errorf("%s has no sessions; that of a request without plugins has none", path)
	}
	if len(report.Sessions) == 0 {
		return nil, fmt.Errorf("%s: there is no session of plugin %s in it; its sessions are of: %s", path, player.Plugin().Name, strings.Join(others, ", "))
	}
	return report, nil
}

// preparePlayer returns what plays a file's sessions. Scripts of requests have sessions of the
// plugin that runs them, so a file with a script replaces the one in their configuration.
func preparePlayer(file *recorded.File, from load.File) (load.File, error) {
	has := func(plugin string) bool {
		return slices.ContainsFunc(file.Sessions, func(s recorded.Session) bool { return s.Plugin.Name == plugin })
	}
	name, script := strings.CutSuffix(from.Base, load.ScriptSuffix)
	if !script || has(name) && name != interpreter.Name || !has(interpreter.Name) {
		return from, nil
	}
	source, seen := "", false // what was recorded
	for i := range file.Sessions {
		s := &file.Sessions[i]
		if s.Plugin.Name != interpreter.Name {
			continue
		}
		var config map[string]json.RawMessage
		var was string
		err := json.Unmarshal(s.Request.Config, &config)
		if err == nil {
			err = json.Unmarshal(config["source"], &was)
		}
		if err != nil {
			return from, fmt.Errorf("sessions[%d].request.config: source is no text: %w", i, err)
		}
		if seen && source != was {
			return from, fmt.Errorf("sessions[%d] is of another script than those before it: name %s in place of a file, "+
				"and all are played as they were recorded", i, interpreter.Name)
		}
		source, seen = was, true
		if config["source"], err = json.Marshal(string(from.Content)); err != nil {
			return from, err
		}
		if s.Request.Config, err = json.Marshal(config); err != nil {
			return from, err
		}
	}
	return load.File{Base: interpreter.Name, Content: interpreter.Module()}, nil
}

func printReplay(cmd *cobra.Command, r *replayReport) {
	for _, s := range r.Sessions {
		name := fmt.Sprintf("session %d", s.Session)
		if s.Name != "" {
			name += " (" + s.Name + ")"
		}
		if s.Difference != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s differs: %s\n", name, s.Difference)
		} else {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: all %d calls came out as recorded\n", name, s.Calls)
		}
	}
}
