// SPDX-License-Identifier: MIT

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/author/cost"
	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/plugin/load"
)

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
			file, _, err := moduleOf(ctx, cmd, args, debug)
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
