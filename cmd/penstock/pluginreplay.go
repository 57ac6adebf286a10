// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock/penstock/host/author/lines"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	recorded "github.com/penstock/penstock/host/plugin/session"
	interpreter "github.com/penstock/penstock/plugins/script"
)

var errDiffers = errors.New("the plugin does not do what was recorded")

// replayReport is the result of `plugin test --replay`.
type replayReport struct {
	Module   string         `json:"module"` // the file
	Replay   string         `json:"replay"` // the session file
	Same     bool           `json:"same"`   // no session differs
	Sessions []replayedPart `json:"sessions"`
}

// replayedPart is one session of a file, as it came out.
type replayedPart struct {
	Session    int                  `json:"session"` // its place in the file, from 1
	Name       string               `json:"name,omitempty"`
	Calls      int                  `json:"calls"`
	SameModule bool                 `json:"same_module"` // the module is the one that was recorded
	Difference *recorded.Difference `json:"difference,omitempty"`
}

// replayPlugin plays the sessions of a file on a module.
func replayPlugin(ctx context.Context, cmd *cobra.Command, module, path string, asJSON bool) error {
	report, err := replay(ctx, cmd, module, path)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(cmd, report)
	} else {
		printReplay(cmd, report)
	}
	if err == nil && !report.Same {
		err = fmt.Errorf("%s: %w", module, errDiffers)
	}
	return err
}

func replay(ctx context.Context, cmd *cobra.Command, module, path string) (_ *replayReport, err error) {
	loaded := load.File{Base: module, Content: interpreter.Module()}
	if module != interpreter.Name {
		if loaded, err = load.ReadFile(module); err != nil {
			return nil, err
		}
	}
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	file, err := recorded.Read(from)
	_ = from.Close() // it was only read
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if loaded, err = playerOf(file, loaded); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	named := lines.Of(loaded.Content)
	cmd.SetOut(named.Writer(cmd.OutOrStdout()))
	player, err := recorded.NewPlayer(ctx, loaded, file, plugin.HostOptions{Interpreter: interpreter.Module})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", module, named.Err(err))
	}
	defer func() { err = errors.Join(err, player.Close()) }()
	report := &replayReport{Module: module, Replay: path, Same: true}
	var others []string
	for i := range file.Sessions {
		s := &file.Sessions[i]
		if s.Plugin.Name != player.Plugin().Name {
			others = append(others, s.Plugin.Name)
			continue
		}
		d, err := player.Play(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: sessions[%d]: %w", path, i, err)
		}
		report.Same = report.Same && d == nil
		report.Sessions = append(report.Sessions, replayedPart{i + 1, s.Name, len(s.Calls), s.Plugin.SHA256 == player.Plugin().SHA256, d})
	}
	if len(file.Sessions) == 0 {
		return nil, fmt.Errorf("%s has no sessions; that of a request without plugins has none", path)
	}
	if len(report.Sessions) == 0 {
		return nil, fmt.Errorf("%s: there is no session of plugin %s in it; its sessions are of: %s", path, player.Plugin().Name, strings.Join(others, ", "))
	}
	return report, nil
}

// playerOf is what plays a file. Scripts of requests have sessions of the plugin that runs them,
// and a file with a script takes the place of the one in their configuration.
func playerOf(file *recorded.File, from load.File) (load.File, error) {
	has := func(plugin string) bool {
		return slices.ContainsFunc(file.Sessions, func(s recorded.Session) bool { return s.Plugin.Name == plugin })
	}
	name, script := strings.CutSuffix(from.Base, load.ScriptSuffix)
	if !script || has(name) && name != interpreter.Name || !has(interpreter.Name) {
		return from, nil
	}
	source, seen := "", false // what was recorded
	for i := range file.Sessions {
		s := &file.Sessions[i]
		if s.Plugin.Name != interpreter.Name {
			continue
		}
		var config map[string]json.RawMessage
		var was string
		err := json.Unmarshal(s.Request.Config, &config)
		if err == nil {
			err = json.Unmarshal(config["source"], &was)
		}
		if err != nil {
			return from, fmt.Errorf("sessions[%d].request.config: source is no text: %w", i, err)
		}
		if seen && source != was {
			return from, fmt.Errorf("sessions[%d] is of another script than those before it: name %s in place of a file, "+
				"and all are played as they were recorded", i, interpreter.Name)
		}
		source, seen = was, true
		if config["source"], err = json.Marshal(string(from.Content)); err != nil {
			return from, err
		}
		if s.Request.Config, err = json.Marshal(config); err != nil {
			return from, err
		}
	}
	return load.File{Base: interpreter.Name, Content: interpreter.Module()}, nil
}

func printReplay(cmd *cobra.Command, r *replayReport) {
	for _, s := range r.Sessions {
		name := fmt.Sprintf("session %d", s.Session)
		if s.Name != "" {
			name += " (" + s.Name + ")"
		}
		if s.Difference != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s differs: %s\n", name, s.Difference)
		} else {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: all %d calls came out as recorded\n", name, s.Calls)
		}
	}
}
