// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := group("penstock", "A programmable host for language models",
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

// group is a command that only holds others. Alone it prints its help; with anything else it is
// wrong use.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
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
