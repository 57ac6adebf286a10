// SPDX-License-Identifier: MIT

// Package check tries any plugin under the real runtime: with a made-up model and conversations of
// many kinds, and with its golden cases.
//
// Each conversation runs twice, and once more after a detour that is taken back. It is a finding
// when the plugin traps, answers what it may not, or answers differently the second time. A golden
// case is a file of calls with what is to come of each.
//
// # Why are golden cases session files?
//
// What a plugin did in a live answer and in a case that a person wrote is the same thing: what
// went into each call, and what came out. With one format, one player under the real runtime
// compares both, and a recorded request becomes a case by being copied into the folder.
package check

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
)

// Options say how to try a plugin.
type Options struct {
	Config        []byte        // of every request, JSON; empty: {}
	Conversations int           // 0: 24
	Tokens        int           // of each conversation; 0: 48
	Limits        plugin.Limits // the zero value: those of ABI v1
	CacheDir      string        // compiled code is kept there; empty: it is compiled each time
}

// loadMutex lets one module be loaded at a time: if one is tried with several configurations at
// once, the first compiles it, and the others find its code in the cache.
var loadMutex sync.Mutex

// Module tries a module or a script. The error says why nothing could be tried: it or the
// configuration is refused.
func Module(ctx context.Context, f load.File, o Options) (_ *Report, err error) {
	if o.Conversations == 0 {
		o.Conversations = 24
	}
	if o.Tokens == 0 {
		o.Tokens = 48
	}
	tally := &tally{calls: map[string]*Export{}}
	loader := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: words, Grammars: drive.Grammars{Words: words}, Observer: tally}, Limits: o.Limits, CacheDir: o.CacheDir, Interpreter: script.Module})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	loadMutex.Lock()
	p, err := loader.LoadFile(ctx, f)
	loadMutex.Unlock()
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if o.Config, err = p.CheckConfig(o.Config); err != nil {
		return nil, fmt.Errorf("the configuration: %w; --plugin-config gives one, and so does a golden case", err)
	}
	r := &Report{Plugin: p.Name, Version: p.Manifest.Version, SHA256: p.SHA256, exports: p.Exports, fuel: map[string]int64{}}
	if p, err = p.With(ctx, "", o.Config); err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	defer p.Release()
	r.noteWarmUp(p, words)
	converse := r.tryConversation
	if p.IsProgram() {
		converse = r.tryProgram
	}
	for n := range o.Conversations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if converse(p, o, uint64(n)); len(r.Findings) > 0 {
			break // what follows is likely the same
		}
	}
	if len(r.Findings) == 0 && !p.IsProgram() {
		r.tryLongConversation(p, o)
	}
	if (p.IsTemplate() || p.Rewrites()) && len(r.Findings) == 0 {
		r.tryRendering(ctx, p, o)
	}
	if len(r.Findings) == 0 {
		if err := r.tryRealVocabulary(ctx, loader, p, o); err != nil {
			return nil, err
		}
	}
	r.Exports = tally.list(r.fuel)
	return r, nil
}

// longFactor is how many times as long as the others the longest conversation is.
const longFactor = 100

// maxGrowth is how many bytes a token the memory may grow by. 64 MiB then last for a conversation
// of 128k tokens.
const maxGrowth = 512

// tryLongConversation holds a long conversation. The plugin's memory should hardly grow in it.
func (r *Report) tryLongConversation(p *load.Plugin, o Options) {
	if p.Renders() {
		return
	}
	c := &conversation{plugin: p, tokens: longFactor * o.Tokens, soak: true, words: words, report: r}
	if err := c.run(o.Config); err != nil {
		r.addFinding("a long conversation: %v", err)
	} else if more := c.end - c.early; !c.ended && more > maxGrowth*c.tokens {
		r.addFinding("memory grows by %d bytes a token: it was %d bytes after %d tokens, and %d after %d", more/c.tokens, c.early, settledTokens, c.end, c.tokens)
	}
}

// realVocabulary is how many tokens a real model has: Llama 3.
const realVocabulary = 128_256

var manyWords = sync.OnceValue(func() *drive.Words { return drive.NewWords(realVocabulary) })

// noteWarmUp notes the fuel of the warm-up and of the plan.
func (r *Report) noteWarmUp(p *load.Plugin, w *drive.Words) {
	r.noteFuel(abi.ExportPlan, stage.Usage{Fuel: p.Module.PlanFuel, Limit: abi.LimitPlanFuel}, w)
	r.noteFuel(abi.ExportWarm, stage.Usage{Fuel: p.Module.WarmFuel, Limit: abi.LimitSetupFuel}, w)
}

// tryRealVocabulary measures the calls with a vocabulary of a real model's size.
func (r *Report) tryRealVocabulary(ctx context.Context, l *load.Loader, p *load.Plugin, o Options) (err error) {
	many := manyWords()
	m := l.Model(plugin.ModelOptions{Vocabulary: many, Grammars: drive.Grammars{Words: many}})
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	if p, err = p.For(ctx, m); err == nil {
		p, err = p.With(ctx, "", o.Config)
	}
	if err == nil {
		defer p.Release()
		r.noteWarmUp(p, many)
		switch few := min(o.Tokens, 8); {
		case p.IsProgram():
			err = (&writing{plugin: p, words: many, tokens: few, waits: 2, report: r}).run(o.Config)
		case !p.Renders():
			err = (&conversation{plugin: p, words: many, tokens: few, soak: true, report: r}).run(o.Config)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.addFinding("with a vocabulary of %d tokens: %v", realVocabulary, err)
	}
	return ctx.Err()
}

// tryRendering has a plugin that writes prompts or rewrites messages do so twice with each chat.
func (r *Report) tryRendering(ctx context.Context, p *load.Plugin, o Options) {
	chats, err := drive.Chats()
	if err != nil {
		r.addFinding("%v", err)
		return
	}
	for i, chat := range chats {
		var prompts [2]string
		for n := range prompts {
			var refusal *plugin.Refusal
			prompts[n], err = chat.Make(ctx, p, plugin.RequestInfo{Config: o.Config, ContextSize: contextSize})
			if err != nil && !errors.As(err, &refusal) {
				r.addFinding("conversation %d (%.60s): %v", i, chat.Messages, err)
				return
			}
		}
		if prompts[0] != prompts[1] {
			r.addFinding("conversation %d (%.60s): what it makes of it is something else the second time", i, chat.Messages)
			return
		}
	}
}

// Report is what came of trying a plugin.
type Report struct {
	Plugin   string   `json:"plugin"`
	Version  string   `json:"version,omitempty"`
	SHA256   string   `json:"sha256"`
	Exports  []Export `json:"exports"`
	Memory   Memory   `json:"memory"`
	Findings []string `json:"findings"` // empty: all is well

	exports []string         // of the module
	fuel    map[string]int64 // the most of a call
}

// Memory is how much guest memory there was after conversations, in bytes.
type Memory struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// Export is what the calls of an export took.
type Export struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Median time.Duration `json:"median_ns"`
	Most   time.Duration `json:"most_ns"`
	Fuel   int64         `json:"fuel"` // units, of the call that used most; 0: not known

	times []time.Duration
}

func (r *Report) addFinding(format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = plugin.Told(err)
		}
	}
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// maxFuelShare is the part of its fuel that no call should exceed: a real vocabulary takes more.
const maxFuelShare = 0.5

// noteFuel notes the fuel of a call, if the plugin has the export that was to be called.
func (r *Report) noteFuel(export string, u stage.Usage, w *drive.Words) {
	if !slices.Contains(r.exports, export) {
		return
	}
	if w == words && float64(u.Fuel) > maxFuelShare*float64(u.Limit) && float64(r.fuel[export]) <= maxFuelShare*float64(u.Limit) {
		r.addFinding("%s used %d units of fuel; the limit is %d", export, u.Fuel, u.Limit)
	}
	r.fuel[export] = max(r.fuel[export], u.Fuel)
}

// noteMemory notes the memory at the end of a conversation.
func (r *Report) noteMemory(bytes int) {
	if r.Memory.Most == 0 {
		r.Memory.Least = bytes
	}
	r.Memory = Memory{min(r.Memory.Least, bytes), max(r.Memory.Most, bytes)}
}

// tally is a plugin.Observer that times calls.
type tally struct {
	mu    sync.Mutex
	calls map[string]*Export
}

// PluginCalls implements plugin.Observer.
func (t *tally) PluginCalls(_, export string) func(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.calls[export]
	if e == nil {
		e = &Export{Name: export}
		t.calls[export] = e
	}
	return func(took time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.Calls++
		e.times = append(e.times, took)
	}
}

// PluginFault implements plugin.Observer: conversations report their faults themselves.
func (t *tally) PluginFault(string, string) {}

// list gives the exports by name, with the most fuel of a call.
func (t *tally) list(fuel map[string]int64) []Export {
	var list []Export
	for _, e := range t.calls {
		slices.Sort(e.times)
		e.Median, e.Most = e.times[len(e.times)/2], e.times[len(e.times)-1]
		e.Fuel = fuel[e.Name]
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Export) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Print writes a report for people.
func (r *Report) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s %s\n", r.Plugin, r.Version)
	fmt.Fprintf(table, "  export\tcalls\tmedian\tlongest\tmost fuel\tof the limit\n")
	for _, e := range r.Exports {
		fmt.Fprintf(table, "  %s\t%d\t%v\t%v\t", e.Name, e.Calls, e.Median, e.Most)
		if e.Fuel > 0 {
			fmt.Fprintf(table, "%d\t%.3f%%", e.Fuel, 100*float64(e.Fuel)/fuelLimit(e.Name))
		} else {
			fmt.Fprintf(table, "\t")
		}
		fmt.Fprintln(table)
	}
	if r.Memory.Most > 0 {
		fmt.Fprintf(table, "  memory at the end of conversations: %d to %d KiB of the %d that an instance may have\n", r.Memory.Least>>10, r.Memory.Most>>10, abi.LimitMemoryPages*64)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(table, "  wrong: %s\n", f)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintf(table, "  nothing wrong was found\n")
	}
	return table.Flush()
}

// fuelLimit is the default fuel limit of an export.
func fuelLimit(export string) float64 {
	switch export {
	case abi.ExportPlan:
		return abi.LimitPlanFuel
	case abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportOpen, abi.ExportMessages, abi.ExportTemplate:
		return abi.LimitSetupFuel
	}
	return abi.LimitHookFuel
}

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
