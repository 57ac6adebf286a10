// SPDX-License-Identifier: MIT

package check

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/script"
)

// Case is a golden case: a session file that the author of a plugin has written, or had written.
type Case struct {
	Path string
	file *session.File
}

// CaseResult is what came of one session of a case.
type CaseResult struct {
	File       string              `json:"file"`
	Session    int                 `json:"session"` // its place in the file, from 1
	Name       string              `json:"name,omitempty"`
	Calls      int                 `json:"calls"`
	Updated    int                 `json:"updated,omitempty"`    // calls that were written anew
	Difference *session.Difference `json:"difference,omitempty"` // nil: it is as the case says
}

// packed is how the names of cases end that are gzip.
const packed = ".json.gz"

// ReadCases reads the golden cases of a folder, its files *.json and *.json.gz by name. Of a
// folder that is not there, there are none.
func ReadCases(folder string) ([]Case, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Case
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, packed) {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		file, err := session.Read(f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, Case{path, file})
	}
	return all, nil
}

// Configs are the configurations of the cases, each once. Those that the plugin is to refuse are
// left out.
func Configs(cases []Case) []json.RawMessage {
	var all []json.RawMessage
	seen := map[string]bool{}
	for _, c := range cases {
		for i := range c.file.Sessions {
			s := &c.file.Sessions[i]
			var config bytes.Buffer
			if len(s.Request.Config) > 0 {
				if json.Compact(&config, s.Request.Config) != nil {
					continue // it was read as JSON
				}
			}
			if len(s.Calls) > 0 && s.Calls[0].Call == session.CallOpen && s.Calls[0].Refusal != nil || seen[config.String()] {
				continue
			}
			seen[config.String()] = true
			all = append(all, config.Bytes())
		}
	}
	return all
}

// Run plays the sessions of a case; those of other plugins, which a recorded request may have, are
// left out. With update it writes into the file what the plugin does now, where that is something
// else. Compiled code is kept in the folder cache; empty: it is compiled each time. The error says
// why the case cannot be played.
func (c Case) Run(ctx context.Context, f load.File, cache string, update bool) (_ []CaseResult, err error) {
	player, err := session.NewPlayer(ctx, f, c.file, plugin.HostOptions{CacheDir: cache, Interpreter: script.Module})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, player.Close()) }()
	var all []CaseResult
	written := 0
	for i := range c.file.Sessions {
		s := &c.file.Sessions[i]
		if s.Plugin.Name != player.Plugin().Name {
			continue
		}
		r := CaseResult{File: filepath.Base(c.Path), Session: i + 1, Name: s.Name, Calls: len(s.Calls)}
		if update {
			r.Updated, err = player.Update(ctx, s)
		} else {
			r.Difference, err = player.Play(ctx, s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: sessions[%d]: %w", c.Path, i, err)
		}
		written += r.Updated
		all = append(all, r)
	}
	if len(all) == 0 && len(c.file.Sessions) > 0 {
		return nil, fmt.Errorf("%s has no session of the plugin %q; sessions[0].plugin.name is %q", c.Path, player.Plugin().Name, c.file.Sessions[0].Plugin.Name)
	}
	if written > 0 {
		err = c.write()
	}
	return all, err
}

// write writes the file anew.
func (c Case) write() error {
	var text bytes.Buffer
	var to io.Writer = &text
	end := func() error { return nil }
	if strings.HasSuffix(c.Path, packed) {
		z := gzip.NewWriter(&text)
		to, end = z, z.Close
	}
	if err := errors.Join(c.file.Write(to), end()); err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	_, err := atomicfile.WriteBytes(c.Path, 0o644, text.Bytes())
	return err
}

// String tells what came of a session, in a line.
func (r CaseResult) String() string {
	name := fmt.Sprintf("%s, session %d", r.File, r.Session)
	if r.Name != "" {
		name += " (" + r.Name + ")"
	}
	switch {
	case r.Updated > 0:
		return fmt.Sprintf("%s: %d of %d calls written anew", name, r.Updated, r.Calls)
	case r.Difference == nil:
		return fmt.Sprintf("%s: all %d calls as the case says", name, r.Calls)
	}
	d := r.Difference
	return fmt.Sprintf("%s differs at call %d, %s, answer token %d, in %s:\n    the case says %s\n    the plugin:   %s",
		name, d.Call, d.Name, d.Answered+1, d.Field, d.Recorded, d.Came)
}
