// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/penstock/penstock/host/config"
)

// addConfigFlags defines --config and the flags of the configuration keys in the given sections,
// or of all keys if no section is given.
func addConfigFlags(cmd *cobra.Command, sections ...string) {
	cmd.Flags().String("config", "", "configuration file (default "+config.DefaultFile+" if present)")
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(all)
	for _, key := range config.Keys() {
		section, _, _ := strings.Cut(key.Name, ".")
		if key.Flag != "" && (len(sections) == 0 || slices.Contains(sections, section)) {
			cmd.Flags().AddFlag(all.Lookup(key.Flag))
		}
	}
}

// loadConfig reads the configuration from file, environment and the flags of cmd.
func loadConfig(cmd *cobra.Command) (config.Config, error) {
	path, err := cmd.Flags().GetString("config")
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Load(config.Sources{File: path, Environ: os.Environ(), Flags: config.FlagValues(cmd.Flags())})
	if err != nil {
		return config.Config{}, usageError{err}
	}
	return cfg, nil
}

// warnOfRisks says on standard error what is unsafe.
func warnOfRisks(cmd *cobra.Command, cfg config.Config) {
	for _, risk := range cfg.Risks() {
		fmt.Fprintf(cmd.ErrOrStderr(), "unsafe: %s\n  → %s\n", risk.What, risk.Remedy)
	}
}

func newConfig() *cobra.Command {
	return newGroup("config", "The effective configuration", newConfigPrint(), newConfigCheck())
}

func newConfigPrint() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every key with its value and where that came from",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			warnOfRisks(cmd, cfg)
			if asJSON {
				return printSettingsJSON(cmd, cfg.Settings())
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "KEY\tVALUE\tFROM")
			for _, s := range cfg.Settings() {
				fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key.Name, s, s.Origin)
			}
			return table.Flush()
		},
	}
	addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printSettingsJSON(cmd *cobra.Command, settings []config.Setting) error {
	type entry struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	entries := make([]entry, len(settings))
	for i, s := range settings {
		entries[i] = entry{s.Key.Name, s.String(), s.Origin}
	}
	return printJSON(cmd, entries)
}

func newConfigCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with the configuration, or that nothing is",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			warnOfRisks(cmd, cfg)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
			return err
		},
	}
	addConfigFlags(cmd)
	return cmd
}
