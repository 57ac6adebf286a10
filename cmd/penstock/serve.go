// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/web"
	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Serve a model: API and browser UI",
		Long: `Serve a model: API and browser UI.

MODEL is a GGUF file or a name in the model folder; without it the built-in model is served.
The first SIGINT or SIGTERM lets running answers end, the second ends at once.`,
		Args: atMost(1),
		RunE: serve,
	}
	addConfigFlags(cmd)
	return cmd
}

func serve(cmd *cobra.Command, args []string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		cfg.Model.Path = args[0]
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that the second signal ends at once
	h, err := host.Open(ctx, host.Options{
		Config:   cfg,
		UI:       web.FS(),
		Version:  version,
		Progress: newProgress(cmd.ErrOrStderr(), modelName(cfg)).show,
		Ready:    func(url string) { fmt.Fprintln(cmd.OutOrStdout(), url) },
	})
	if err != nil {
		return err
	}
	return h.Run(ctx)
}
