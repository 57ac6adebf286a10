// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/artifact"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	interpreter "github.com/penstock/penstock/plugins/script"
)

func newPlugin() *cobra.Command {
	return newGroup("plugin", "Plugins: samplers, templates and stop rules in WebAssembly", newPluginNew(), newPluginBuild(), newPluginTest(),
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
			return inspectPlugin(cmd, args[0], asJSON)
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

func inspectPlugin(cmd *cobra.Command, path string, asJSON bool) (err error) {
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
		{"view", describeView(i.Manifest)}, {"hold", fmt.Sprintf("%d tokens", i.Manifest.Hold)},
		{"exports", strings.Join(i.Exports, ", ")}, {"config schema", string(i.Manifest.ConfigSchema)},
		{"size", fmt.Sprintf("%d bytes", i.Size)}, {"sha256", i.SHA256},
	} {
		if line[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
		}
	}
	return table.Flush()
}

func describeView(m load.Manifest) string {
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

const referenceHelp = `REFERENCE is REGISTRY/REPOSITORY, and then :TAG or @sha256:DIGEST. The registry's user and password are those of docker login.`

// shared is the result of a push or a pull.
type shared struct {
	Name      string `json:"name"`
	Reference string `json:"reference"` // with the digest
	SHA256    string `json:"sha256"`    // of the file
	Lock      string `json:"lock"`      // an entry of plugins.lock
	Path      string `json:"path,omitempty"`
}

func newPluginPush() *cobra.Command {
	var client artifact.Client
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "push FILE REFERENCE",
		Short: "Put a plugin or an index of plugins into an OCI registry",
		Long: "Put a plugin into an OCI registry, and print where it is with its digest. FILE is a module or a script NAME.js, or an index\n" +
			"NAME.json, which goes there with its signature.\n\n" + referenceHelp,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pushPlugin(cmd, client, args[0], args[1], asJSON)
		},
	}
	addShareFlags(cmd, &client, &asJSON)
	return cmd
}

func newPluginPull() *cobra.Command {
	var client artifact.Client
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Get a plugin from an OCI registry into the plugin folder",
		Long: "Get a plugin from an OCI registry into the plugin folder, in the place of the one that has its name. A running server finds it there.\n" +
			"With plugins.lock nothing else than what it has is pulled.\n\n" + referenceHelp,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pullPlugin(cmd, client, args[0], asJSON)
		},
	}
	addConfigFlags(cmd, "plugins")
	addShareFlags(cmd, &client, &asJSON)
	return cmd
}

func addShareFlags(cmd *cobra.Command, c *artifact.Client, asJSON *bool) {
	c.UserAgent = "penstock/" + version
	c.MaxBytes = int64(plugin.DefaultLimits().Module.ModuleBytes)
	cmd.Flags().BoolVar(&c.PlainHTTP, "plain-http", false, "talk to the registry without encryption")
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

func pushPlugin(cmd *cobra.Command, c artifact.Client, file, to string, asJSON bool) (err error) {
	r, err := artifact.ParseReference(to)
	if err != nil {
		return usageError{err}
	}
	if filepath.Ext(file) == ".json" {
		return pushIndex(cmd, c, file, r)
	}
	read, err := load.ReadFile(file)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	loader := load.New(plugin.HostOptions{Interpreter: interpreter.Module, CacheDir: codeCache()})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	p, err := loader.LoadFile(ctx, read) // what does not load would be refused where it is pulled
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer p.Release()
	digest, err := c.Push(ctx, r, read.Content, artifact.Description{Name: p.Name, Version: p.Manifest.Version, Summary: p.Manifest.Summary, Script: strings.HasSuffix(read.Base, load.ScriptSuffix)})
	if errors.Is(err, artifact.ErrReference) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return printShared(cmd, shared{Name: p.Name, Reference: r.At(digest), SHA256: p.SHA256, Lock: plugin.LockEntry(p.Name, p.SHA256)}, asJSON)
}

// pushIndex puts an index with its signature into a registry.
func pushIndex(cmd *cobra.Command, c artifact.Client, file string, r artifact.Reference) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	i, err := index.Parse(text, maxModule)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, e := range i.Plugins {
		if e.Path() != "" {
			return fmt.Errorf("%s: the file of %s is at %q, and nothing lies beside an index in a registry; make the index with --url", file, e.Name, e.URL)
		}
	}
	signature, err := os.ReadFile(file + index.SignatureSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	digest, err := c.PushIndex(ctx, r, text, signature)
	if errors.Is(err, artifact.ErrReference) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "oci://"+r.At(digest))
	return err
}

func pullPlugin(cmd *cobra.Command, c artifact.Client, from string, asJSON bool) (err error) {
	r, err := artifact.ParseReference(from)
	if err != nil {
		return usageError{err}
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	loader, plugins, err := openFolder(ctx, cfg.Plugins)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugins.Close(), loader.Close(context.WithoutCancel(ctx))) }()
	pulled, err := c.Pull(ctx, r)
	if err != nil {
		return err
	}
	var info registry.Info
	if pulled.Script != "" {
		info, _, err = plugins.UploadScript(ctx, pulled.Script, pulled.Content)
	} else {
		info, _, err = plugins.Upload(ctx, pulled.Content)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	path := plugins.Path(info)
	return printShared(cmd, shared{info.Name, r.At(pulled.Digest), info.SHA256, plugin.LockEntry(info.Name, info.SHA256), path}, asJSON)
}

// codeCache is the folder of compiled code, without which each command would compile the
// interpreter of scripts.
func codeCache() string { return loading.CodeCache(slog.New(slog.DiscardHandler)) }

// openFolder loads the plugins of the configured folder, and lists those that the server comes
// with.
func openFolder(ctx context.Context, c config.Plugins) (*load.Loader, *registry.Registry, error) {
	lock, err := plugin.NewLock(c.Lock)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("plugins.lock: %w", err)}
	}
	loader := load.New(plugin.HostOptions{Interpreter: interpreter.Module, CacheDir: codeCache()})
	options := registry.Options{Dir: c.Dir, Lock: lock}
	options.Bundled, options.Later = loading.BundledPlugins(c.Bundled)
	plugins, err := registry.Open(ctx, loader, options)
	if err != nil {
		return nil, nil, errors.Join(err, loader.Close(context.WithoutCancel(ctx)))
	}
	return loader, plugins, nil
}

func printShared(cmd *cobra.Command, s shared, asJSON bool) error {
	if asJSON {
		return printJSON(cmd, s)
	}
	what := s.Reference
	if s.Path != "" {
		what = s.Path
		fmt.Fprintf(cmd.ErrOrStderr(), "%s from %s\n", s.Name, s.Reference)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "its entry in plugins.lock: %s\n", s.Lock)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), what)
	return err
}
