// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/host/library"
	"github.com/spf13/cobra"
)

func newModelPull() *cobra.Command {
	var options hub.Options
	var connections int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pull MODEL",
		Short: "Download a model from a hub or a URL into the model folder",
		Long: `Download a model from a hub or a URL into the model folder.

MODEL is one of
  OWNER/NAME                 a repository of a hub; of its models, Q4_K_M, else Q8_0, else the first
  OWNER/NAME:Q5_K_M          the one with this quantisation
  OWNER/NAME@REVISION:Q5_K_M of a branch, a tag or a commit
  hf://OWNER/NAME/FILE.gguf  one file; the address of a page of the hub does, too
  https://HOST/FILE.gguf     a URL

The projector of a model that sees or hears comes with it, as mmproj-NAME.gguf beside the model, where serve finds it.

A pull that was cut goes on where it ended when it is started again. Of a model that is there and whole, by the hashes noted beside
it, nothing is asked unless --ask-hub says so. HF_TOKEN is the token for private and gated repositories.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if connections < 1 || connections > 64 {
				return usageError{fmt.Errorf("--connections is %d; it must be 1 to 64", connections)}
			}
			return pullModel(cmd, args[0], options, connections, asJSON)
		},
	}
	addConfigFlags(cmd, "models")
	cmd.Flags().StringVar(&options.Name, "name", "", "name of the model in the folder (default: its file's)")
	cmd.Flags().StringVar(&options.SHA256, "sha256", "", "hash that the file must have; a hub names it itself")
	cmd.Flags().BoolVar(&options.AskHub, "ask-hub", false, "ask the hub also about a model that is there and whole: it may have another file by now")
	cmd.Flags().BoolVar(&options.NoProjector, "no-mmproj", false, "without the projector: the model takes text only")
	cmd.Flags().IntVar(&connections, "connections", 4, "connections at once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func pullModel(cmd *cobra.Command, arg string, o hub.Options, connections int, asJSON bool) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	reference, err := hub.Parse(arg)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	o.Folder = library.Open(cfg.Models.Dir).Folder
	client := host.HubClient(cfg.Models.Hub, "penstock/"+version)
	client.Connections = connections
	shown := newPullProgress(cmd.ErrOrStderr(), arg)
	client.Notify = shown.show
	result, err := client.Pull(ctx, reference, o)
	shown.end()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted; pull again to go on: %w", err)
	}
	if errors.Is(err, hub.ErrReference) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd, result)
	}
	if result.Bytes == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is there already\n", result.Name)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Path)
	return err
}
