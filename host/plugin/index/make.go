// SPDX-License-Identifier: MIT

package index

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
)

// Options say what an index tells of plugins that their files do not. In URL and Source, {name},
// {version}, {sha256} and {file} stand for the plugin's own.
type Options struct {
	Key     string // the public key that the index is going to be signed with; "": it is not
	Created int64  // Unix time; 0: it does not say
	URL     string // of each file; "": the file lies beside the index
	License string
	Source  string
}

// Make writes the index of a folder's plugins, by name. Each is loaded for that: one that does not
// load is an error.
func Make(ctx context.Context, l *load.Loader, dir string, o Options) ([]byte, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	i := Index{Version: formatVersion, Key: o.Key, Created: o.Created, Plugins: []Entry{}}
	for _, f := range files {
		base := f.Name()
		if ext := filepath.Ext(base); base[0] == '.' || ext != ".wasm" && ext != load.ScriptSuffix {
			continue
		}
		e, err := describe(ctx, l, filepath.Join(dir, base), o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		i.Plugins = append(i.Plugins, e)
	}
	slices.SortFunc(i.Plugins, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	read, err := Parse(text, int64(l.Limits().Module.ModuleBytes))
	if err == nil && len(read.Unread) > 0 {
		err = fmt.Errorf("%w: %s", ErrIndex, read.Unread[0])
	}
	return text, err
}

func describe(ctx context.Context, l *load.Loader, path string, o Options) (e Entry, err error) {
	file, err := load.ReadFile(path)
	if err != nil {
		return e, err
	}
	p, err := l.LoadFile(ctx, file)
	if err != nil {
		return e, err
	}
	defer p.Release()
	e = Entry{Name: p.Name, SHA256: p.SHA256, Size: int64(len(file.Content)), License: o.License}
	e.Manifest, e.Exports = p.Described()
	if filepath.Ext(path) != load.ScriptSuffix { // a script has them all, from what runs it
		for _, function := range abi.Imports {
			if p.Module.Imports(function.Name) {
				e.Requires = append(e.Requires, function.Name)
			}
		}
	}
	fill := strings.NewReplacer("{name}", p.Name, "{version}", e.Manifest.Version, "{sha256}", p.SHA256, "{file}", url.PathEscape(file.Base)).Replace
	e.Source, e.URL = fill(o.Source), fill(o.URL)
	if o.URL == "" {
		e.URL = url.PathEscape(file.Base)
	}
	return e, nil
}
