// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/author/dev"
	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/host/author/toolchain"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/web"
)

func newPluginNew() *cobra.Command {
	var language, kind string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Begin a plugin: a folder with an example that works, its tests and the SDK",
		Long: `Begin a plugin in the new folder NAME: an example that works, a native test, a golden case, and a copy of the SDK. Nothing is
downloaded, now or later.

--lang tinygo makes small and fast modules of Go; --lang go needs nothing but Go, and makes modules that are thirty times as large and
two to four times slower; --lang rust needs cargo with the target wasm32-unknown-unknown; --lang js makes a script, which
needs nothing and no building, and is slower still.
A sampler chooses among the candidates for the next token, a stop rule decides when the answer ends, and a template writes the prompt.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := project.Options{Name: filepath.Base(filepath.Clean(args[0])), Language: project.Language(language), Kind: project.Kind(kind)}
			p, err := project.Create(args[0], o)
			if errors.Is(err, project.ErrOption) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "next: cd %s && penstock plugin test\n", p.Dir)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), p.Dir)
			return err
		},
	}
	cmd.Flags().StringVar(&language, "lang", string(project.TinyGo), "what to write it in: go, tinygo, rust or js")
	cmd.Flags().StringVar(&kind, "kind", string(project.Sampler), "what it does: sampler, stop, template or program")
	return cmd
}

func newPluginBuild() *cobra.Command {
	var debug, asJSON bool
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Compile a plugin's project into NAME.wasm, and say what it is",
		Long: `Compile a plugin's project (the current folder, or DIR) into NAME.wasm, load it, and say what it is.

A script needs no building: it is only loaded. A folder with Cargo.toml is built by cargo, one with go.mod and target.json by TinyGo, and one with go.mod alone by Go.
Where the compiler is missing, the error says how to get it on this system. TINYGO may name TinyGo's command.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			p, err := buildProject(ctx, cmd, folderOf(args), debug)
			if err != nil {
				return err
			}
			return inspectPlugin(cmd, p.Module(), asJSON)
		},
	}
	addDebugFlag(cmd, &debug)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func addDebugFlag(cmd *cobra.Command, debug *bool) {
	cmd.Flags().BoolVar(debug, "debug", false, "keep names and line numbers, for the messages of faults")
}

// folderOf is the folder in which a command works: its argument or the current one.
func folderOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// buildProject compiles the project of a folder. The compiler's messages go to standard error as
// they are.
func buildProject(ctx context.Context, cmd *cobra.Command, dir string, debug bool) (project.Project, error) {
	p, err := project.Open(dir)
	if errors.Is(err, project.ErrNoProject) {
		return p, usageError{err}
	}
	if err != nil {
		return p, err
	}
	if p.Language == project.JavaScript {
		return p, nil // it runs as it is
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "building %s with %s\n", p.Module(), p.Language.Compiler())
	tools, err := toolchain.Find(ctx, p.Language)
	if err != nil {
		return p, err
	}
	return p, tools.Build(ctx, p, toolchain.Options{Debug: debug, Output: cmd.ErrOrStderr()})
}

// findModule returns the module or the script that an argument names: a file, or what the project
// of a folder builds. cases is the folder of its golden cases.
func findModule(ctx context.Context, cmd *cobra.Command, args []string, debug bool) (file, cases string, _ error) {
	place := folderOf(args)
	info, err := os.Stat(place)
	if err != nil {
		return "", "", err
	}
	if !info.IsDir() {
		return place, strings.TrimSuffix(place, filepath.Ext(place)) + ".cases", nil
	}
	p, err := buildProject(ctx, cmd, place, debug)
	return p.Module(), p.Cases(), err
}

// devFlags are the flags of `plugin dev`.
type devFlags struct {
	server, apiKey, adminKey, folder string
	question                         dev.Question
	config                           string
	debug, json                      bool
}

func newPluginDev() *cobra.Command {
	var flags devFlags
	cmd := &cobra.Command{
		Use:   "dev [DIR|FILE]",
		Short: "Build a plugin at each change, and show what the change does to an answer",
		Long: `Build a plugin's project (the current folder, or DIR), or take a script FILE, at each change, put the module into a running host, ask a question, and show what
the change has done to the answer: both texts, the first token that differs, and the candidates that the plugin found and left there.

Without --server a host of its own serves the built-in model, or --model. What the plugin writes to its log is shown then.
With --server the module is uploaded, which needs --admin-key, or it is put into the host's plugin folder --plugin-dir; with both, into the
folder where loading takes longer than an upload may.
While the project does not compile, the last build stays in use. Ctrl-C ends it.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return develop(cmd, folderOf(args), flags) },
	}
	addConfigFlags(cmd, "model", "models")
	f := cmd.Flags()
	f.StringVar(&flags.server, "server", "", "`URL` of a running host")
	f.StringVar(&flags.adminKey, "admin-key", "", "key of the host's admin routes, for uploads")
	f.StringVar(&flags.apiKey, "api-key", "", "key of the host's API, if it asks for one")
	f.StringVar(&flags.folder, "plugin-dir", "", "the host's plugin folder, for modules that cannot be uploaded")
	f.StringVar(&flags.question.Prompt, "prompt", "Tell me a story about a frog.", "the question")
	f.Int64Var(&flags.question.Seed, "seed", 1, "start of the random draws, the same each time")
	f.IntVar(&flags.question.MaxTokens, "max-tokens", 60, "most tokens of the answer")
	f.Float64Var(&flags.question.Temperature, "temperature", 0.8, "0 takes the most likely token each time")
	f.StringVar(&flags.question.Model, "model-name", "", "which of the host's models is asked; empty: its first")
	f.StringVar(&flags.config, "plugin-config", "", "the `JSON` that the request gives the plugin")
	addDebugFlag(cmd, &flags.debug)
	f.BoolVar(&flags.json, "json", false, "print a line of JSON for each build")
	return cmd
}

func develop(cmd *cobra.Command, dir string, flags devFlags) (err error) {
	if flags.config != "" {
		if !json.Valid([]byte(flags.config)) {
			return usageError{fmt.Errorf("--plugin-config is %q; it must be JSON, such as {\"letter\": \"e\"}", flags.config)}
		}
		flags.question.Config = json.RawMessage(flags.config)
	}
	if flags.server == "" && flags.folder != "" {
		return usageError{errors.New("--plugin-dir is that of a running host; name the host with --server")}
	}
	p, err := project.Open(dir)
	if errors.Is(err, project.ErrNoProject) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	h := &dev.Client{URL: flags.server, APIKey: flags.apiKey, AdminKey: flags.adminKey, Folder: flags.folder}
	if flags.server == "" {
		var end func() error
		if h, end, err = startOwnHost(ctx, cmd); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s is tried at %s; edit its sources, Ctrl-C ends\n", p.Name, h.URL)
	return dev.Run(ctx, dev.Options{
		Project: p, Host: h, Question: flags.question, Debug: flags.debug, Compiler: cmd.ErrOrStderr(),
		Show: func(r dev.Round) error {
			if flags.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return r.Print(cmd.OutOrStdout())
		},
	})
}

// startOwnHost starts a host for one author: on a free port of this machine, with an empty plugin
// folder of its own. end stops it.
func startOwnHost(ctx context.Context, cmd *cobra.Command) (_ *dev.Client, end func() error, _ error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "penstock-plugins-")
	if err != nil {
		return nil, nil, err
	}
	cfg.Plugins.Dir, cfg.Plugins.Default, cfg.Plugins.PolicyFile, cfg.Plugins.Lock = folder, nil, "", nil
	cfg.Plugins.Log = true
	cfg.Server.AdminKey, cfg.Server.APIKeys = rand.Text(), nil
	url, stop, err := startPrivateHost(ctx, cmd, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	end = func() error { return errors.Join(stop(), os.RemoveAll(folder)) }
	return &dev.Client{URL: url, AdminKey: cfg.Server.AdminKey, Folder: folder}, end, nil
}

// startPrivateHost starts a host on a free port of this machine, with the keys of the
// configuration.
func startPrivateHost(ctx context.Context, cmd *cobra.Command, cfg config.Config) (url string, end func() error, _ error) {
	s := &cfg.Server
	s.Listen, s.APIPrefix = config.Address{Host: "127.0.0.1", Port: "0"}, ""
	s.APIKeyFile, s.SSLCertFile, s.SSLKeyFile = "", "", ""
	s.RateLimitRequests, s.RateLimitTokens = 0, 0
	log := cmd.ErrOrStderr()
	h, err := host.Open(ctx, host.Options{
		Config: cfg, UI: web.FS(), Version: version, Log: slog.New(guestLog{to: log}), Progress: newProgress(log, modelName(cfg)).show,
	})
	if err != nil {
		return "", nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan error, 1)
	go func() { stopped <- h.Run(running) }()
	return h.URL(), func() error {
		stop()
		return <-stopped
	}, nil
}

// guestLog is a log for the author of a plugin: it prints what plugins write, and the host's
// warnings.
type guestLog struct {
	to     io.Writer
	plugin string // whose log it is; empty: the host's
}

// Enabled implements slog.Handler.
func (l guestLog) Enabled(_ context.Context, level slog.Level) bool {
	return l.plugin != "" || level >= slog.LevelWarn
}

// Handle implements slog.Handler.
func (l guestLog) Handle(_ context.Context, r slog.Record) error {
	who := l.plugin
	if who == "" {
		who = "host"
	}
	line := fmt.Sprintf("%s: %s: %s", who, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	_, err := fmt.Fprintln(l.to, line)
	return err
}

// WithAttrs implements slog.Handler.
func (l guestLog) WithAttrs(attributes []slog.Attr) slog.Handler {
	for _, a := range attributes {
		if a.Key == "plugin" {
			l.plugin = a.Value.String()
		}
	}
	return l
}

// WithGroup implements slog.Handler.
func (l guestLog) WithGroup(string) slog.Handler { return l }
