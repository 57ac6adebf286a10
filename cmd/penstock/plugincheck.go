// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/author/check"
	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/plugin/load"
)

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

// atLeastOne allows one argument or more.
func atLeastOne(cmd *cobra.Command, args []string) error {
	return exactly(1)(cmd, args[:min(1, len(args))])
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
