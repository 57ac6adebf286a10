// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	interpreter "github.com/penstock/penstock/plugins/script"
	"github.com/spf13/cobra"
)

func newPlugin() *cobra.Command {
	return group("plugin", "Plugins: samplers, templates and stop rules in WebAssembly", newPluginNew(), newPluginBuild(), newPluginTest(),
		newPluginBench(), newPluginDev(),
		newPluginCheck(), newPluginInspect(), newPluginList(), newPluginSearch(), newPluginInstall(), newPluginIndex(), newPluginPush(), newPluginPull())
}

func newPluginInspect() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Load a plugin without a model, and say what it is or what is wrong with it",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect(cmd, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// inspection is the result of `plugin inspect`.
type inspection struct {
	SHA256   string        `json:"sha256"`
	Size     int           `json:"size"` // bytes
	Manifest load.Manifest `json:"manifest"`
	Exports  []string      `json:"exports"`
}

func inspect(cmd *cobra.Command, path string, asJSON bool) (err error) {
	file, err := load.ReadFile(path)
	if err != nil {
		return err
	}
	loader := load.New(plugin.HostOptions{Interpreter: interpreter.Module})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(cmd.Context()))) }()
	p, err := loader.LoadFile(cmd.Context(), file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer p.Release()
	manifest, exports := p.Described()
	found := inspection{p.SHA256, len(file.Content), manifest, exports}
	if asJSON {
		return printJSON(cmd, found)
	}
	return printInspection(cmd.OutOrStdout(), found)
}

func printInspection(out io.Writer, i inspection) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"name", i.Manifest.Name}, {"version", i.Manifest.Version}, {"summary", i.Manifest.Summary},
		{"view", viewOf(i.Manifest)}, {"hold", fmt.Sprintf("%d tokens", i.Manifest.Hold)},
		{"exports", strings.Join(i.Exports, ", ")}, {"config schema", string(i.Manifest.ConfigSchema)},
		{"size", fmt.Sprintf("%d bytes", i.Size)}, {"sha256", i.SHA256},
	} {
		if line[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
		}
	}
	return table.Flush()
}

func viewOf(m load.Manifest) string {
	if m.View == load.ViewCandidates {
		return fmt.Sprintf("the best %d candidates", m.Candidates)
	}
	return string(m.View)
}

func newPluginList() *cobra.Command {
	var asJSON, asLock bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins in the plugin folder, and those that the server comes with",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listPlugins(cmd, asJSON, asLock)
		},
	}
	addConfigFlags(cmd, "plugins")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asLock, "lock", false, "print entries for plugins.lock, which allows these modules and no others")
	cmd.MarkFlagsMutuallyExclusive("json", "lock")
	return cmd
}

func listPlugins(cmd *cobra.Command, asJSON, asLock bool) (err error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	loader, plugins, err := openFolder(cmd.Context(), cfg.Plugins)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugins.Close(), loader.Close(context.WithoutCancel(cmd.Context()))) }()
	list := plugins.List()
	switch {
	case asJSON:
		return printJSON(cmd, list)
	case asLock:
		return printLock(cmd, list)
	}
	if len(list) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "there are no plugins in %s\n", cfg.Plugins.Dir)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, i := range list {
		detail := i.Error
		version := ""
		if i.Manifest != nil {
			version, detail = i.Manifest.Version, i.Manifest.Summary
		}
		state := string(i.State)
		if i.Bundled {
			state += ", comes with the server"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", i.Name, printable(version), state, printable(detail))
	}
	return table.Flush()
}

// printLock prints what plugins.lock would allow of a folder. Files that do not load are left out,
// and named.
func printLock(cmd *cobra.Command, list []registry.Info) error {
	for _, i := range list {
		if i.State == registry.StateFailed {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is left out: %s\n", i.File, printable(i.Error))
			continue
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), plugin.LockEntry(i.Name, i.SHA256)); err != nil {
			return err
		}
	}
	return nil
}
