// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
)

const (
	readyWithin  = 6 * time.Minute // of all rounds; the first is always done
	readyTokens  = 48              // of an answer
	readyWarm    = 16              // of the first one, in which what a model's plugin has is made
	readyWords   = 49152           // tokens of the vocabulary that calls are measured with: SmolLM2's
	longestShown = 60              // characters of a configuration in the table
)

// readyStreams are how many answers there are at a time.
var readyStreams = []int{1, 8}

// readyEnding are plugins that allow nothing but the end where their text is complete.
var readyEnding = []string{"grammar", "grammar-aligned", "json-schema", "multiple-choice", "sql"}

// readyPlugin is a plugin that comes with the server, with a configuration.
type readyPlugin struct {
	Name   string `json:"name"`
	Config string `json:"config"`
	text   bool   // it is for prompts; else for conversations
}

// readyMore are configurations besides the first one of each README: where that has the answer end
// at once, is not of this model, or costs less than what others ask for.
func readyMore(width int) []readyPlugin {
	zeros := strings.TrimSuffix(strings.Repeat("0,", width), ",")
	return []readyPlugin{
		{Name: "banned-phrases", Config: `{"slop":true}`},
		{Name: "phrases", Config: `{"cite_from_prompt":{}}`},
		{Name: "phrases", Config: `{"trigger_phrase":{"phrase":"\nSo","trigger_token_phrase":"zzz"}}`},
		{Name: "grammar", Config: `{"grammar":"root ::= [a-z ]+"}`},
		{Name: "more-samplers", Config: `{"smoothing_factor":0.2,"tfs":0.95}`},
		{Name: "probe", Config: `{"layers":[{"weights":[[` + zeros + `]],"bias":[-9]}],"then":"stop"}`},
	}
}

// readReady reads the first example of each README in the folder of the plugins' sources. A plugin
// that only shows in Rust what another one does does not come with the server.
func readReady(folder string) (all []readyPlugin, err error) {
	readmes, err := filepath.Glob(filepath.Join(folder, "*", "README.md"))
	if err != nil || len(readmes) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no plugins: benchpeer runs at the top of the repository", folder))
	}
	for _, readme := range readmes {
		name := filepath.Base(filepath.Dir(readme))
		if strings.HasSuffix(name, "-rust") {
			continue
		}
		text, err := os.ReadFile(readme)
		if err != nil {
			return nil, err
		}
		p, err := readyIn(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", readme, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// readyIn is a plugin with the configuration of the first example of its README, which is a
// request.
func readyIn(name, readme string) (readyPlugin, error) {
	p := readyPlugin{Name: name}
	_, after, _ := strings.Cut(readme, "\n```json\n")
	example, _, found := strings.Cut(after, "\n```\n")
	if !found {
		return p, errors.New("it has no example, a request in a block of ```json")
	}
	var request struct {
		Prompt  string            `json:"prompt"`
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal([]byte(example), &request); err != nil {
		return p, fmt.Errorf("its first example: %w", err)
	}
	var entry struct {
		Name   string          `json:"name"`
		Config json.RawMessage `json:"config"`
	}
	read := func(to any) bool { return json.Unmarshal(request.Plugins[0], to) == nil }
	if len(request.Plugins) != 1 || !read(&entry.Name) && !read(&entry) || entry.Name != name {
		return p, errors.New("plugins of its first example must have the plugin, and no other")
	}
	var config bytes.Buffer
	if len(entry.Config) > 0 {
		if err := json.Compact(&config, entry.Config); err != nil {
			return p, err
		}
	}
	p.Config, p.text = config.String(), request.Prompt != ""
	return p, nil
}

// field is the request's field plugins.
func (p readyPlugin) field() json.RawMessage {
	if p.Config == "" {
		return json.RawMessage(fmt.Sprintf(`[{"name":%q}]`, p.Name))
	}
	return json.RawMessage(fmt.Sprintf(`[{"name":%q,"config":%s}]`, p.Name, p.Config))
}

func (p readyPlugin) contest(streams int) string {
	return fmt.Sprintf("%s %s, streams: %d", p.Name, p.Config, streams)
}

// readyCost is a row of the table of the plugins that come with the server.
type readyCost struct {
	readyPlugin
	Calls   string   `json:"calls"`   // what its calls take
	Streams []string `json:"streams"` // tokens a second with and without it
}

// ready measures what each plugin that comes with the server costs: its calls, and the tokens a
// second of streams with it and without it in turn, on the same server.
func (l *lab) ready() error {
	l.stopServers()
	s := &server{name: penstock, key: readyPart}
	if err := l.start(s, l.command(penstock, l.one(), "--plugin-dir", l.pluginDir, "--spec-type", "none")); err != nil {
		return err
	}
	all, err := readReady("plugins/examples")
	if err != nil {
		return err
	}
	var models struct {
		Data []struct {
			Meta struct {
				Width int `json:"n_embd"`
			}
		}
	}
	if err := s.client.JSON(l.ctx, http.MethodGet, "/v1/models", nil, &models); err != nil || len(models.Data) == 0 {
		return errors.Join(err, errors.New("the server lists no model"))
	}
	more := readyMore(models.Data[0].Meta.Width)
	for _, p := range all {
		if p.Name != "probe" { // its README's weights are of no model
			l.report.Ready = append(l.report.Ready, readyCost{readyPlugin: p})
		}
		for _, m := range more {
			if m.Name == p.Name {
				l.report.Ready = append(l.report.Ready, readyCost{readyPlugin: m})
			}
		}
	}
	for i := range l.report.Ready { // the first request makes what later ones have
		p := &l.report.Ready[i]
		if p.Calls, err = l.callsOf(p.readyPlugin); err != nil {
			return err
		}
		if err := l.take(l.readySides(s, *p)[0], contest{name: "first " + p.Name, load: readyLoad(0, 1, readyWarm)}, i); err != nil {
			return err
		}
	}
	err = l.repeat(readyWithin, func(round int) error { return l.readyRound(s, round) })
	for i := range l.report.Ready {
		p := &l.report.Ready[i]
		for _, n := range readyStreams {
			p.Streams = append(p.Streams, l.readyFigure(p.contest(n)))
		}
	}
	return err
}

func readyLoad(i, streams, tokens int) bench.Load {
	return bench.Load{Seed: seedReady + uint64(1000*i+20*streams), Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: streams, Requests: streams, PromptWords: 4, MaxTokens: tokens}}}
}

// readySides are with a plugin and without.
func (l *lab) readySides(s *server, p readyCost) [2]side {
	client := *s.client
	client.Chat = !p.text
	plain := side{Target: bench.Target{Name: "without", Streamer: &client}, pid: s.process.PID()}
	with := bench.With(&client, func(r *bench.Request) {
		r.Plugins, r.MayEnd = p.field(), slices.Contains(readyEnding, p.Name)
	})
	return [2]side{{bench.Target{Name: "with", Streamer: with}, plain.pid, 1 << 16}, plain}
}

// readyRound measures all once. Who comes first alternates.
func (l *lab) readyRound(s *server, round int) error {
	for i, p := range l.report.Ready {
		sides := l.readySides(s, p)
		for _, n := range readyStreams {
			for turn := range sides {
				c := contest{name: p.contest(n), load: readyLoad(i, n, readyTokens)}
				if err := l.take(sides[(turn+round+i)%2], c, round); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(l.log, "round %d: %s %.*s\n", round+1, p.Name, longestShown, p.Config)
	}
	return nil
}

// readyFigure is a cell of the table.
func (l *lab) readyFigure(name string) string {
	var tokens, asked float64
	for _, t := range l.report.Turns {
		if t.Contest == name && t.Side == "with" {
			tokens, asked = tokens+t.Total.Tokens, asked+float64(t.Total.Requests*readyTokens)
		}
	}
	if tokens < asked/2 {
		return fmt.Sprintf("ends after %.0f", tokens/asked*readyTokens)
	}
	c := l.compared(name, "with", "without", figure{"tokens/s", func(t turn) float64 { return t.Total.TokensPerSecond }, false})
	return fmt.Sprintf("%.0f / %.0f", c.ours, c.theirs)
}

// callsOf measures a plugin's calls, as `penstock plugin bench` does.
func (l *lab) callsOf(p readyPlugin) (string, error) {
	command := exec.CommandContext(l.ctx, l.penstock, "plugin", "bench", filepath.Join(l.pluginDir, p.Name+".wasm"), "--json", "--alone",
		"--vocabulary", fmt.Sprint(readyWords), "--plugin-config", p.Config)
	text, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("penstock plugin bench %s: %w", p.Name, err)
	}
	var report struct {
		Hooks []struct {
			Name, Input string
			Median      float64 `json:"median_ns"`
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return "", err
	}
	var request, wait, token float64 // µs
	narrowed := bytes.Contains(text, []byte(`"best 256"`))
	for _, h := range report.Hooks {
		switch us := h.Median / 1e3; {
		case h.Name == "penstock_messages" || h.Name == "penstock_template":
			request += us
		case h.Name == "penstock_run":
			wait += us
		case h.Input != "whole row" || !narrowed:
			token += us
		}
	}
	var cells []string
	for _, c := range []struct {
		us  float64
		per string
	}{{token, ""}, {wait, " a step"}, {request, " a request"}} {
		if c.us > 0 {
			cells = append(cells, shortFigure(c.us)+c.per)
		}
	}
	return strings.Join(cells, ", "), nil
}

// shortFigure has two digits or more.
func shortFigure(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// readyTable is the table of the plugins that come with the server; "": they were not measured.
func (r report) readyTable() string {
	if len(r.Ready) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| plugin | configuration | µs a token | %d stream, with / without | %d streams, with / without |\n|---|---|---|---|---|\n", readyStreams[0], readyStreams[1])
	rounds := 0
	for _, t := range r.Turns {
		if t.Contest == r.Ready[0].contest(1) && t.Side == "with" {
			rounds++
		}
	}
	for _, p := range r.Ready {
		config := []rune(p.Config)
		if len(config) > longestShown {
			config = append(config[:longestShown:longestShown], '…')
		}
		code := ""
		if len(config) > 0 {
			code = "`" + strings.ReplaceAll(string(config), "|", `\|`) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.Name, code, p.Calls, strings.Join(p.Streams, " | "))
	}
	fmt.Fprintf(&b, "\nMeasured on %s, %v. %s Medians of %d rounds.\n", r.Time.Format(time.DateOnly), r.Machine, r.Setting, rounds)
	return b.String()
}
