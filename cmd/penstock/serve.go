// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/web"
	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Serve a model: API and browser UI",
		Long: `Serve a model: API and browser UI.

MODEL is a GGUF file or a name in the model folder; without it the built-in model is served.
With --models-dir DIR all models of that folder are served: each is loaded when a request names it.
The first SIGINT, SIGTERM or SIGHUP lets running answers end, the second ends at once.`,
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
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	var ui fs.FS
	if cfg.Server.UI {
		ui = web.FS()
	}
	h, err := host.Open(ctx, host.Options{
		Config:   cfg,
		UI:       ui,
		Version:  version,
		Progress: serveProgress(cmd.ErrOrStderr(), cfg),
		Ready:    func(url string) { fmt.Fprintln(cmd.OutOrStdout(), url) },
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; end what uses it, or choose another address with --listen", err)
	}
	if err != nil {
		return err
	}
	return h.Run(ctx)
}

// serveProgress is a bar on a terminal; elsewhere the log tells when the model is loaded.
func serveProgress(out io.Writer, cfg config.Config) func(float32) {
	if !isTerminal(out) {
		return nil
	}
	return newProgress(out, modelName(cfg)).show
}
