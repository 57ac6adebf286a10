// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/author/dev"
	"github.com/penstock/penstock/host/author/project"
	"github.com/spf13/cobra"
)

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
		if h, end, err = ownHost(ctx, cmd); err != nil {
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
