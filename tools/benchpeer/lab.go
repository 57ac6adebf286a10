// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
)

// The names of the servers in tables.
const (
	penstock = "penstock"
	earlier  = "penstock before"
	llama    = "llama-server"
	llama128 = "llama-server -b 128 -ub 128"

	unguessed = "penstock --spec-type none"
)

// lab holds what all parts of a run share.
type lab struct {
	ctx             context.Context
	penstock, tools string // a binary, and a folder
	before          string // a binary of an earlier commit; may be empty
	ik, ikFlags     string // a llama-server of ik_llama.cpp, and how it is run; may be empty
	model           string
	cells           string   // type of keys and values; empty: the servers' default
	models          string   // folder of the models of the part quants
	chosen          []string // of these; empty: all
	pluginDir       string
	threads, rounds int
	group           string // folder of the control group that servers start in; empty: that of this process
	window          time.Duration
	log             io.Writer

	servers []*server
	waited  time.Duration // for other programs to be quiet
	report  report
}

// server is a running server.
type server struct {
	name, key string
	process   *bench.Process
	client    *bench.HTTP
}

// few and many are the two sizes of servers: many slots for short requests, few for long ones.
func (l *lab) many() bench.Size { return bench.Size{Slots: 16, Context: 16 << 10, Threads: l.threads} }
func (l *lab) few() bench.Size  { return bench.Size{Slots: 8, Context: 32 << 10, Threads: l.threads} }

// command runs the named server with additional flags.
func (l *lab) command(name string, size bench.Size, flags ...string) bench.Command {
	if l.cells != "" {
		flags = append(flags, "--cache-type-k", l.cells, "--cache-type-v", l.cells)
	}
	switch name {
	case penstock:
		return bench.Penstock(l.penstock, l.model, size, flags...)
	case ik:
		return bench.LlamaFork(l.ik, l.model, size, append(strings.Fields(l.ikFlags), flags...)...)
	case earlier:
		return bench.Penstock(l.before, l.model, size, flags...)
	case unguessed:
		return bench.Penstock(l.penstock, l.model, size, append(flags, "--spec-type", "none")...)
	case penstockUncached:
		return bench.Penstock(l.penstock, l.model, size, append(flags, "--cache-ram", "0")...)
	case llamaUncached:
		flags = append(flags, "--cache-ram", "0")
	case llama128:
		flags = append(flags, "-b", "128", "-ub", "128")
	}
	return bench.LlamaServer(l.tool("llama-server"), l.model, size, flags...)
}

func (l *lab) tool(name string) string { return filepath.Join(l.tools, name) }

// targets returns servers of a size, starting those that do not run yet. It stops all others to
// save memory.
func (l *lab) targets(size bench.Size, names ...string) ([]bench.Target, error) {
	var kept []*server
	var targets []bench.Target
	for _, name := range names {
		key := fmt.Sprint(name, size, l.model, l.cells)
		s := l.running(key)
		if s == nil {
			s = &server{name: name, key: key}
		}
		kept = append(kept, s)
	}
	l.stopServers(kept...)
	for _, s := range kept {
		if s.process == nil {
			command := l.command(s.name, size)
			if l.group != "" {
				command = inGroup(l.group, command)
			}
			if err := l.start(s, command); err != nil {
				return nil, err
			}
		}
		targets = append(targets, bench.Target{Name: s.name, Streamer: s.client})
	}
	return targets, nil
}

func (l *lab) running(key string) *server {
	for _, s := range l.servers {
		if s.key == key {
			return s
		}
	}
	return nil
}

func (l *lab) start(s *server, c bench.Command) error {
	p, err := bench.Start(l.ctx, c)
	if err != nil {
		return err
	}
	s.process, s.client = p, bench.NewHTTP(p.URL)
	l.servers = append(l.servers, s)
	if s.name == penstock {
		if l.report.Kernels, err = kernelsOf(l.ctx, p.URL); err != nil {
			return err
		}
	}
	// What is allocated or learned on first use must not be measured.
	_, err = bench.Run(l.ctx, s.client, bench.Load{Classes: []bench.Class{{Name: "first", Clients: 2, Requests: 2, PromptWords: 100, MaxTokens: 16}}})
	return err
}

// stopServers stops all servers except these.
func (l *lab) stopServers(except ...*server) {
	var left []*server
	for _, s := range l.servers {
		keep := false
		for _, e := range except {
			keep = keep || e == s
		}
		if keep {
			left = append(left, s)
			continue
		}
		s.client.Close()
		s.process.Stop()
	}
	l.servers = left
}

// repeat runs the rounds of a part: always the first, and others while the part's time allows.
func (l *lab) repeat(within time.Duration, round func(i int) error) error {
	begin := time.Now()
	for i := range l.rounds {
		start := time.Now()
		if err := round(i); err != nil {
			return err
		}
		if i+1 < l.rounds && time.Since(begin)+time.Since(start) > within {
			fmt.Fprintf(l.log, "no time is left for more than %d rounds\n", i+1)
			break
		}
	}
	return nil
}

// round runs a scenario once on each target; rounds count from 0 here and from 1 in reports.
func (l *lab) round(targets []bench.Target, s bench.Scenario, round int) error {
	runs, err := bench.Round(l.ctx, targets, s, round+1, func(m bench.Measured) {
		fmt.Fprintf(l.log, "%s, round %d, %s: %.1f s, %.1f tokens/s, %.1f prompt tokens/s, ITL p99 %.0f ms\n",
			m.Scenario, m.Round, m.Target, m.Seconds, m.Total.TokensPerSecond, m.Total.PromptTokensPerSecond, m.Total.ITL.P99)
	})
	l.report.Runs = append(l.report.Runs, runs...)
	if err != nil {
		return err
	}
	for _, m := range runs {
		if m.Total.Failed > 0 {
			return fmt.Errorf("%d of %d requests failed on %s: %s", m.Total.Failed, m.Total.Requests, m.Target, m.Total.Error)
		}
	}
	return nil
}

// median is the median of a figure over the rounds of a scenario on a server.
func (l *lab) median(scenario, target string, figure func(bench.Result) float64) float64 {
	return bench.MedianOf(l.report.Runs, scenario, target, figure)
}

func tokensPerSecond(r bench.Result) float64       { return r.Total.TokensPerSecond }
func promptTokensPerSecond(r bench.Result) float64 { return r.Total.PromptTokensPerSecond }
func streamITL(r bench.Result) float64             { return r.Class("stream").ITL.P99 }
