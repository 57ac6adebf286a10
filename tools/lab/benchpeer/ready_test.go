// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/lab/bench"
)

// Each README begins with an example that is measured.
func TestReady_ReadsEveryReadme(t *testing.T) {
	all, err := readReady(filepath.Join("..", "..", "..", "plugins", "examples"))
	if err != nil || len(all) < 38 {
		t.Fatalf("%d plugins, %v", len(all), err)
	}
	of := func(name string) readyPlugin {
		return all[slices.IndexFunc(all, func(p readyPlugin) bool { return p.Name == name })]
	}
	if p := of("min-p"); string(p.field()) != `[{"name":"min-p","config":{"min_p":0.05}}]` || p.text {
		t.Errorf("%+v", p)
	}
	if p := of("heal"); string(p.field()) != `[{"name":"heal"}]` || !p.text {
		t.Errorf("%+v", p)
	}
	for _, more := range readyMore(1) {
		of(more.Name) // panics where there is none
	}
}

func TestReadyIn_Wrong(t *testing.T) {
	for readme, says := range map[string]string{
		"# a\n":                                   "no example",
		"# a\n\n```json\n{\n```\n":                "first example",
		"# a\n\n```json\n{}\n```\n":               "must have the plugin",
		"\n```json\n{\"plugins\":[\"b\"]}\n```\n": "must have the plugin",
	} {
		if p, err := readyIn("a", readme); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", readme, p, err)
		}
	}
}

func TestReport_ReadyTable(t *testing.T) {
	const name, ends = `a {"x":"|"}, streams: `, `b , streams: 1`
	took := func(contest, side string, tokens, rate float64) turn {
		return turn{Contest: contest, Side: side, Result: bench.Result{Total: bench.Summary{Requests: 1, Tokens: tokens, TokensPerSecond: rate}}}
	}
	l := &lab{report: report{Turns: []turn{
		took(name+"1", "with", readyTokens, 90), took(name+"1", "without", readyTokens, 100), took(ends, "with", 3, 90), took(ends, "without", readyTokens, 100)}}}
	p := readyCost{readyPlugin: readyPlugin{Name: "a", Config: `{"x":"|"}`}, Calls: "1.2", Streams: []string{l.readyFigure(name + "1"), l.readyFigure(ends)}}
	l.report.Ready = []readyCost{p}
	if got, want := l.report.readyTable(), "\n| a | `{\"x\":\"\\|\"}` | 1.2 | 90 / 100 | ends after 3 |\n"; !strings.Contains(got, want) || !strings.Contains(got, "of 1 rounds") {
		t.Errorf("%s\nwant %s", got, want)
	}
}
