// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/plugin/source"
	interpreter "github.com/penstock/penstock/plugins/script"
)

func newPluginIndex() *cobra.Command {
	var o index.Options
	var signWith string
	cmd := &cobra.Command{
		Use:   "index FOLDER",
		Short: "Write the index of a folder's plugins, from which others can install them",
		Long: "Write the index of a folder's plugins, from which others can install them, as " + index.FileName + " in that folder.\n\n" +
			"In --url and --source, {name}, {version}, {sha256} and {file} stand for the plugin's own.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeIndex(cmd, args[0], o, signWith)
		},
	}
	cmd.Flags().StringVar(&o.URL, "url", "", "where each file will be, such as https://example.com/{file} or oci://registry.example.com/team/{name}:{version}; default: beside the index")
	cmd.Flags().StringVar(&o.License, "license", "", "the licence of all, as SPDX names it")
	cmd.Flags().StringVar(&o.Source, "source", "", "where the source of each is")
	cmd.Flags().StringVar(&signWith, "sign", "", "sign the index with the private key in this `file`, as openssl genpkey -algorithm ed25519 writes it")
	return cmd
}

func writeIndex(cmd *cobra.Command, folder string, o index.Options, signWith string) (err error) {
	var private ed25519.PrivateKey
	if signWith != "" {
		text, err := os.ReadFile(signWith)
		if err == nil {
			private, err = index.ReadPrivateKey(text)
		}
		if err != nil {
			return fmt.Errorf("--sign %s: %w", signWith, err)
		}
		o.Key, o.Created = index.FormatKey(private.Public().(ed25519.PublicKey)), time.Now().Unix()
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	loader := load.New(plugin.HostOptions{Interpreter: interpreter.Module, CacheDir: codeCache()})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	text, err := index.Make(ctx, loader, folder, o)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, index.FileName)
	if private == nil {
		err = atomicfile.Remove(path + index.SignatureSuffix) // that of an index from before
	} else {
		_, err = atomicfile.WriteBytes(path+index.SignatureSuffix, 0o644, index.Sign(text, private))
		fmt.Fprintf(cmd.ErrOrStderr(), "what others write behind its address in plugins.indexes: #%s\n", o.Key)
	}
	if err == nil {
		_, err = atomicfile.WriteBytes(path, 0o644, text)
	}
	if err == nil {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return err
}

// indexFlags say which indexes a command reads.
type indexFlags struct {
	indexes []string
	offline bool
	json    bool
}

func (f *indexFlags) add(cmd *cobra.Command) {
	addConfigFlags(cmd, "plugins")
	cmd.Flags().StringArrayVar(&f.indexes, "index", nil, "read this index and not those of plugins.indexes: a URL, an oci:// reference or a path, and then #ed25519:KEY or #sha256:HEX")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "read the copies of the indexes from the last time, and reach no other machine")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

func newPluginSearch() *cobra.Command {
	var f indexFlags
	cmd := &cobra.Command{
		Use:   "search [WORD...]",
		Short: "Search indexes for plugins whose name or summary has all words",
		RunE: func(cmd *cobra.Command, words []string) error {
			return searchPlugins(cmd, f, words)
		},
	}
	f.add(cmd)
	return cmd
}

func newPluginInstall() *cobra.Command {
	var f indexFlags
	cmd := &cobra.Command{
		Use:   "install NAME[@sha256:HEX]",
		Short: "Get a plugin that an index has into the plugin folder",
		Long: "Get a plugin that an index has into the plugin folder, in the place of the one that has its name. A running server finds it there.\n" +
			"It is installed only if it is the file that the index describes. With plugins.lock nothing else than what it has is installed.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return installPlugin(cmd, f, args[0])
		},
	}
	f.add(cmd)
	return cmd
}

// offered is a plugin of an index.
type offered struct {
	index.Entry
	Index string `json:"index"` // where that is; "": it comes with the server
	State string `json:"state"` // bundled, installed, another or ""; see states

	from *source.Client // nil: it comes with the server
}

// states say what is there under the name of an offered plugin.
var states = map[string]string{"bundled": "comes with the server", "installed": "installed", "another": "another version is installed"}

// readIndexes returns the plugins that come with the server, then those of all indexes. Its error
// is about indexes that cannot be read; the plugins of the others are returned all the same. A file
// that several indexes have counts as the first one's.
func readIndexes(ctx context.Context, cmd *cobra.Command, c config.Plugins, f indexFlags) (all []offered, err error) {
	clients, err := indexClients(c, f)
	if err != nil {
		return nil, err
	}
	if dir, mayMiss := loading.BundledPlugins(c.Bundled); dir != "" {
		switch i, err := index.Read(filepath.Join(dir, index.FileName), maxModule); {
		case err == nil:
			for _, e := range i.Plugins {
				all = append(all, offered{Entry: e, State: "bundled"})
			}
		case !mayMiss || !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s (plugins.bundled): %w", dir, err)
		}
	}
	var errs []error
	for _, client := range clients {
		i, err := readIndex(ctx, cmd, client, f.offline)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range i.Plugins {
			if !slices.ContainsFunc(all, func(o offered) bool { return o.Name == e.Name && o.SHA256 == e.SHA256 }) {
				all = append(all, offered{Entry: e, Index: client.Name, from: client})
			}
		}
		for _, reason := range i.Unread {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: left out, since this version of Penstock does not know what it asks for: %s\n", client.Name, printable(reason))
		}
	}
	return all, errors.Join(errs...)
}

// maxModule is the most bytes of a plugin's file.
var maxModule = int64(plugin.DefaultLimits().Module.ModuleBytes)

// indexClients makes the clients of the indexes that a command reads.
func indexClients(c config.Plugins, f indexFlags) (clients []*source.Client, err error) {
	field, names := "--index", f.indexes
	if len(names) == 0 {
		field, names = "plugins.indexes", c.Indexes
	}
	for _, name := range names {
		from, err := source.Parse(name)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", field, err)}
		}
		clients = append(clients, source.Client{Source: from, MaxBytes: maxModule, Agent: "penstock/" + version, Copies: indexCopies()}.Open())
	}
	return clients, nil
}

// indexCopies is the user's folder of copies of indexes; "": the system names no place for one.
func indexCopies() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "penstock", "indexes")
}

func readIndex(ctx context.Context, cmd *cobra.Command, from *source.Client, offline bool) (*index.Index, error) {
	if !offline {
		return from.Index(ctx)
	}
	i, made, err := from.Offline()
	if err == nil && !made.IsZero() {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the copy of %s\n", from.Name, made.UTC().Format(time.DateTime+" MST"))
	}
	return i, err
}

func searchPlugins(cmd *cobra.Command, f indexFlags, words []string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	all, failed := readIndexes(ctx, cmd, cfg.Plugins, f)
	if errors.Is(failed, errUsage) {
		return failed
	}
	found := []offered{}
	for _, l := range all {
		if l.Matches(words) {
			found = append(found, l)
		}
	}
	if err := addStates(found, cfg.Plugins.Dir); err != nil {
		return err
	}
	if f.json {
		return errors.Join(printJSON(cmd, found), failed)
	}
	if len(found) == 0 && failed == nil {
		hint := ""
		if len(f.indexes) == 0 && len(cfg.Plugins.Indexes) == 0 {
			hint = "; plugins.indexes names no other index than that of the server itself"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "nothing is found%s\n", hint)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, l := range found {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Name, printable(l.Manifest.Version), states[l.State], l.Index, printable(l.Manifest.Summary))
	}
	return errors.Join(table.Flush(), failed)
}

// addStates compares what was found with the files of the plugin folder.
func addStates(found []offered, dir string) error {
	for i := range found {
		l := &found[i]
		for _, suffix := range []string{".wasm", load.ScriptSuffix} {
			content, err := os.ReadFile(filepath.Join(dir, l.Name+suffix))
			switch sum := sha256.Sum256(content); {
			case errors.Is(err, os.ErrNotExist):
			case err != nil:
				return err
			case hex.EncodeToString(sum[:]) == l.SHA256:
				l.State = "installed"
			default:
				l.State = "another"
			}
		}
	}
	return nil
}

func installPlugin(cmd *cobra.Command, f indexFlags, what string) error {
	name, sum, pinned := strings.Cut(what, "@sha256:")
	if pinned {
		if _, err := plugin.NewLock([]string{what}); err != nil {
			return usageError{err}
		}
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	all, err := readIndexes(ctx, cmd, cfg.Plugins, f)
	if err != nil {
		return err // the index that cannot be read may be the one that is meant
	}
	chosen, err := chooseOffered(all, name, sum)
	if err != nil {
		return err
	}
	if chosen.from == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s comes with the server: nothing is to be installed\n", name)
		return nil
	}
	if f.offline && !chosen.from.IsFolder() {
		return fmt.Errorf("the file of %s is on another machine, and --offline reaches none; install it without, or from a folder that has the index and the files", name)
	}
	return installOffered(ctx, cmd, cfg.Plugins, chosen, f.json)
}

// chooseOffered returns the only file that a name can mean. It means one that comes with the server
// if no index has another.
func chooseOffered(all []offered, name, sum string) (chosen offered, err error) {
	var other []string
	for _, l := range all {
		switch {
		case l.Name != name:
		case sum != "" && l.SHA256 != sum:
			other = append(other, l.describe())
		case chosen.Name == "", chosen.from == nil && chosen.SHA256 != l.SHA256:
			chosen = l
		case chosen.SHA256 != l.SHA256:
			return chosen, fmt.Errorf("several indexes have a plugin %s: %s; %s. Say which with --index, or as %s@sha256:HEX", name, chosen.describe(), l.describe(), name)
		}
	}
	switch {
	case chosen.Name != "":
		return chosen, nil
	case len(other) > 0:
		return chosen, fmt.Errorf("no index has plugin %s with SHA-256 %s; there is %s", name, sum, strings.Join(other, "; "))
	}
	return chosen, fmt.Errorf("no index has a plugin %q; `penstock plugin search` lists those there are", name)
}

func (l offered) describe() string {
	from := l.Index
	if l.from == nil {
		from = "the server itself"
	}
	return fmt.Sprintf("%s@sha256:%s of %s", l.Name, l.SHA256, from)
}

// installOffered gets a plugin's file, checks that it is what its index says, and puts it into the
// plugin folder.
func installOffered(ctx context.Context, cmd *cobra.Command, c config.Plugins, l offered, asJSON bool) (err error) {
	loader, plugins, err := openFolder(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugins.Close(), loader.Close(context.WithoutCancel(ctx))) }()
	content, err := l.from.File(ctx, l.Entry)
	if err != nil {
		return err
	}
	try, keep := plugins.Try, plugins.Upload
	if !strings.HasPrefix(string(content), "\x00asm") {
		try = func(ctx context.Context, source []byte) (registry.Info, bool, error) {
			return plugins.TryScript(ctx, l.Name, source)
		}
		keep = func(ctx context.Context, source []byte) (registry.Info, bool, error) {
			return plugins.UploadScript(ctx, l.Name, source)
		}
	}
	info, _, err := try(ctx, content)
	if err == nil && info.Name != l.Name {
		err = fmt.Errorf("its file calls itself %q", info.Name)
	}
	if err == nil {
		info, _, err = keep(ctx, content)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", l.Name, l.Index, err)
	}
	return printShared(cmd, shared{info.Name, l.Index, info.SHA256, plugin.LockEntry(info.Name, info.SHA256), plugins.Path(info)}, asJSON)
}
