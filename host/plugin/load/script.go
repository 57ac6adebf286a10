// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/quarantine"
)

// ScriptSuffix ends the names of scripts' files.
const ScriptSuffix = ".js"

// File is what a plugin is loaded from.
type File struct {
	Base    string // its name: NAME.js is a script, the plugin NAME; anything else is a module
	Content []byte
}

// ReadFile reads the file of a plugin.
func ReadFile(path string) (File, error) {
	content, err := os.ReadFile(path)
	return File{filepath.Base(path), content}, err
}

// LoadFile loads a module, as Load does, or a script. A script's manifest is that of the
// interpreter, the plugin that runs scripts, with what the script says of itself. The interpreter
// is loaded as by Interpreter.
func (l *Loader) LoadFile(ctx context.Context, f File) (*Plugin, error) {
	if name, is := strings.CutSuffix(f.Base, ScriptSuffix); is {
		return l.loadScript(ctx, name, f.Content)
	}
	if l.host.Interpreter != nil && bytes.Equal(f.Content, l.host.Interpreter()) {
		return l.Interpreter(ctx)
	}
	return l.Load(ctx, f.Content)
}

// builtIn is the plugin that runs scripts. It is loaded with its first use, so that a server
// without scripts does not wait for it.
type builtIn struct {
	mu     sync.Mutex
	busy   chan struct{} // closed when it is loaded, or could not be; nil: nobody loads it
	stop   func()        // ends the loading
	plugin *Plugin       // nil: it is not loaded
	err    error         // why it was not loaded the last time
	closed bool
}

// Interpreter returns the plugin that runs scripts, and loads it if need be. The caller must
// Release it. A caller that stops waiting does not end the loading for others. The error wraps
// plugin.ErrLoading if the context ends, or is one of Load's.
func (l *Loader) Interpreter(ctx context.Context) (*Plugin, error) {
	i := &l.interpreter
	i.mu.Lock()
	defer i.mu.Unlock()
	for tried := false; ; tried = true {
		switch {
		case i.closed:
			return nil, plugin.ErrClosed
		case l.host.Interpreter == nil:
			return nil, fmt.Errorf("%w: nothing runs scripts here", plugin.ErrUnsupported)
		case i.plugin != nil && i.plugin.Retain():
			return i.plugin, nil
		case tried && i.busy == nil:
			return nil, i.err
		case i.busy == nil:
			i.busy = make(chan struct{})
			all, stop := context.WithCancel(context.Background())
			i.stop = stop
			go l.loadInterpreter(all) //nolint:gosec // G118: it loads for all who wait, also where the first one leaves
		}
		busy := i.busy
		i.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
		}
		i.mu.Lock()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w while what runs scripts was compiled", plugin.ErrLoading, ctx.Err())
		}
	}
}

// loadInterpreter loads the plugin that runs scripts, for all who wait.
func (l *Loader) loadInterpreter(ctx context.Context) {
	i := &l.interpreter
	p, err := l.LoadEmbedded(ctx, l.host.Interpreter())
	if err == nil {
		p.base.Shares = true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.plugin, i.err = p, err
	close(i.busy)
	i.stop()
	i.busy, i.stop = nil, nil
}

// LoadedInterpreter returns the hash and the size of the plugin that runs scripts, the plugin if it
// was loaded, and why loading failed. The caller does not Release it.
func (l *Loader) LoadedInterpreter() (sum string, size int, p *Plugin, err error) {
	sum = l.interpreterSum()
	l.interpreter.mu.Lock()
	defer l.interpreter.mu.Unlock()
	return sum, len(l.host.Interpreter()), l.interpreter.plugin, l.interpreter.err
}

// close waits for the plugin's loading and releases the plugin.
func (i *builtIn) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return
	}
	i.closed = true
	if busy := i.busy; busy != nil {
		i.stop()
		i.mu.Unlock()
		<-busy
		i.mu.Lock()
	}
	if i.plugin != nil {
		i.plugin.Release()
	}
}

// loadScript makes a plugin of a script.
func (l *Loader) loadScript(ctx context.Context, name string, source []byte) (*Plugin, error) {
	switch {
	case !ValidName(name):
		return nil, fmt.Errorf("%w: a script is the plugin that its file is named after; the name is %q, and must match [a-z0-9][a-z0-9._-]{0,63}", plugin.ErrManifest, name)
	case !utf8.Valid(source):
		return nil, fmt.Errorf("%w: it is not UTF-8", plugin.ErrScript)
	}
	runs, err := l.Interpreter(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(source)
	p := &Plugin{loaded: &loaded{Name: name, SHA256: hex.EncodeToString(sum[:]), loader: l, runs: runs, configure: wrapConfig(source)},
		Manifest: runs.Manifest, Exports: runs.Exports, model: l.own}
	p.quarantine = quarantine.New(name, l.host.Limits.Faults, l.host.Log)
	p.base = runs.Module.As(name, p.configure, p.quarantine.Faulted)
	p.Module = p.base
	p.users.Store(1)
	if err := p.describe(ctx, source); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// describe has a script describe itself. What it needs may depend on its configuration, so with one
// it may need anything that its interpreter may.
func (p *Plugin) describe(ctx context.Context, source []byte) (err error) {
	p.Manifest.Name, p.Manifest.Version, p.Manifest.Summary, p.Manifest.ConfigSchema = p.Name, "", "", nil
	config, err := p.runs.CheckConfig(scriptConfig{Source: quoteSource(source), Describe: true}.encode())
	var wrong *plugin.ConfigError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%w: the source: %s", plugin.ErrScript, wrong.Message)
	} else if err != nil {
		return err
	}
	said, err := p.runs.base.Plans(ctx, config)
	if err == nil {
		p.described, err = p.narrow(p.base.As(p.Name, nil, nil), string(said))
	}
	if err != nil {
		return fmt.Errorf("%w: %s", plugin.ErrScript, describeMistake(err))
	}
	p.Manifest.Summary, p.Manifest.ConfigSchema = p.described.Manifest.Summary, p.described.Manifest.ConfigSchema
	if p.schema, err = NewSchema(p.Manifest.ConfigSchema); err != nil {
		return fmt.Errorf("%w: plugin.config: %w", plugin.ErrScript, err)
	}
	return nil
}

// describeMistake says what is wrong with a script, in the words of its interpreter if there are
// any.
func describeMistake(err error) string {
	var refusal *plugin.Refusal
	var fault *plugin.Fault
	switch {
	case errors.As(err, &refusal):
		return refusal.Message
	case errors.As(err, &fault) && fault.Said != "":
		return fault.Said
	}
	return plugin.Told(err)
}

// Described returns the manifest that describes the plugin to people, and the ABI's exports that it
// implements. A script's is narrower than the manifest that holds for every configuration.
func (p *Plugin) Described() (Manifest, []string) {
	if p.described != nil {
		return p.described.Manifest, p.described.Exports
	}
	return p.Manifest, p.Exports
}

// Asks returns a plan's own summary, and its schema for configurations: the schema of what a script
// is given; nil: none.
func (p *Plugin) Asks() (summary string, schema json.RawMessage) {
	if p.of != nil && p.Manifest.Summary != p.of.Manifest.Summary {
		summary = p.Manifest.Summary
	}
	if p.asked != nil {
		schema = p.Manifest.ConfigSchema
	}
	return summary, schema
}

// scriptConfig is the configuration of the plugin that runs scripts.
type scriptConfig struct {
	Source   json.RawMessage `json:"source"`
	Config   json.RawMessage `json:"config,omitempty"`
	Describe bool            `json:"describe,omitempty"` // the script is to describe itself, whatever it needs to run
}

// encode returns the configuration as JSON.
func (c scriptConfig) encode() []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // they are parts of JSON
	}
	return text
}

// quoteSource returns a source as a JSON string.
func quoteSource(source []byte) json.RawMessage {
	text, err := json.Marshal(string(source))
	if err != nil {
		panic(err) // any text can be written
	}
	return text
}

// wrapConfig returns the function that turns a request's configuration into that of the plugin
// which runs the script.
func wrapConfig(source []byte) func(config []byte) []byte {
	begin := slices.Concat([]byte(`{"source":`), quoteSource(source), []byte(`,"config":`)) // for each request
	return func(config []byte) []byte {
		if len(config) == 0 {
			config = []byte("{}")
		}
		text, err := json.Marshal(json.RawMessage(config)) // without spaces, as scriptConfig is written
		if err != nil {
			panic(err) // it is JSON
		}
		return slices.Concat(begin, text, []byte("}"))
	}
}

// WithScript is With for the plugin that runs scripts, with a script that a request brings. What
// the script is given is checked against the script's own schema and gets its defaults. It returns
// the configuration with them.
//
// # Errors
//
//   - A *plugin.ConfigError for what the script is given, or for its schema.
//   - Those of With.
func (p *Plugin) WithScript(ctx context.Context, client string, config []byte) (*Plugin, []byte, error) {
	q, err := p.With(ctx, client, config)
	if err == nil && q.asked == nil {
		return q, config, nil
	}
	filled, wrong := p.fillScript(ctx, client, config)
	if wrong == nil && bytes.Equal(filled, config) {
		return q, config, err
	}
	if err == nil {
		q.Release()
	}
	if wrong != nil {
		return nil, nil, wrong
	}
	with, err := p.With(ctx, client, filled)
	return with, filled, err
}

// fillScript returns the configuration with the defaults of the script's own schema.
func (p *Plugin) fillScript(ctx context.Context, client string, config []byte) ([]byte, error) {
	var c scriptConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, &plugin.ConfigError{Message: err.Error()}
	}
	described, err := p.With(ctx, client, scriptConfig{Source: c.Source, Describe: true}.encode())
	if err != nil {
		return nil, err
	}
	defer described.Release()
	if described.asked == nil {
		return config, nil
	}
	schema, err := described.asked()
	if err != nil {
		return nil, &plugin.ConfigError{Message: "plugin.config: " + err.Error()}
	}
	filled, err := schema.Check(c.Config)
	var wrong *plugin.ConfigError
	if errors.As(err, &wrong) {
		return nil, &plugin.ConfigError{Field: ".config" + wrong.Field, Message: wrong.Message}
	}
	if err != nil || bytes.Equal(filled, c.Config) {
		return config, err
	}
	c.Config = filled
	return c.encode(), nil
}
