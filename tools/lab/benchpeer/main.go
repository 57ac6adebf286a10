// SPDX-License-Identifier: MIT

// Command benchpeer compares Penstock's speed with that of llama.cpp's own server and benchmarks.
//
// llama-server, llama-bench and llama-batched-bench are built from the same source with the same
// flags, and run on the same model with the same threads, slots and context. All take turns in one
// run. The result is a table of measured values and targets, printed and written into
// docs/performance.md. A chart of the gaps in streams and a sentence about it go into the README.
//
// Penstock is compared with itself, too, in shorter turns: with the binary of an earlier commit,
// and with and without a plugin, and with and without schemas. And with ik_llama.cpp, a fork of
// llama.cpp for CPUs, if its server is given.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/tools/lab/bench"
)

// works lists the parts of a run in order; each measures one or a few rows of the table.
var works = []struct {
	name    string
	measure func(l *lab) error
}{
	{"single", (*lab).single},
	{"burst", (*lab).burst},
	{"quants", (*lab).quants},
	{"deep", (*lab).deep},
	{"speculation", (*lab).guesses},
	{"late", (*lab).late},
	{"prefix", (*lab).prefix},
	{"tick", (*lab).tick},
	{"memory", (*lab).memory},
	{"contention", (*lab).contention},
	{"quota", (*lab).quota},
	{"target", (*lab).target},
	{"mixed", (*lab).mixed}, // the last: it takes what time is left
	{plugins, (*lab).plugins},
	{readyPart, (*lab).ready},
	{schemas, (*lab).schemas},
	{before, (*lab).compareBefore},
	{ikPart, (*lab).compareIK},
}

// notInWhole are the parts that a whole run leaves out.
var notInWhole = []string{plugins, readyPart, schemas, before, ikPart}

// These compare Penstock with itself.
const (
	plugins   = "plugins"
	readyPart = "ready"
	schemas   = "schemas"
	before    = "before"
)

func main() { bench.Main("benchpeer", run) }

func run(ctx context.Context) error {
	l := &lab{}
	flag.StringVar(&l.penstock, "penstock", "bin/penstock", "the penstock binary")
	flag.StringVar(&l.before, "before", "", "a penstock binary of an earlier commit, for -only before")
	flag.StringVar(&l.ik, "ik", "", "a llama-server of ik_llama.cpp, for -only ik")
	flag.StringVar(&l.ikFlags, "ik-flags", "", "further flags for it, such as \"-rtr\"")
	flag.StringVar(&l.tools, "tools", "build/llama.cpp/tools", "folder of llama.cpp's tools")
	flag.StringVar(&l.model, "model", "build/models/135m-q4_0.gguf", "GGUF file")
	flag.StringVar(&l.models, "models", "build/models", "folder of the models that quants measures")
	flag.StringVar(&l.pluginDir, "plugin-dir", "build/plugins", "folder of the example plugins")
	flag.IntVar(&l.threads, "threads", runtime.NumCPU(), "threads of every server and tool")
	flag.IntVar(&l.rounds, "rounds", 3, "how often each takes its turn; at mixed work as often as there is time; with -only before, how often both servers start anew")
	flag.DurationVar(&l.window, "window", 12*time.Second, "measured time of a run of mixed work")
	flag.Func("quants", "models of the parts quants and ik, with commas, such as 1b-q4_k_m; empty: all", func(list string) error {
		l.chosen = strings.Split(list, ",")
		return nil
	})
	only := flag.String("only", "", "parts to run, with commas: "+strings.Join(names(), ", ")+"; empty: all but "+strings.Join(notInWhole, ", "))
	var to output
	flag.StringVar(&to.document, "document", "", "Markdown file whose section between the markers is replaced by the table of a whole run; empty: none")
	flag.StringVar(&to.readme, "readme", "", "Markdown file whose section between the markers is replaced by a sentence about the gaps; empty: none")
	flag.StringVar(&to.ready, "ready", "", "Markdown file whose section between the markers is replaced by what the plugins that come with the server cost; empty: none")
	flag.StringVar(&to.chart, "chart", "", "file for a chart of the gaps, as SVG; empty: none")
	out := flag.String("out", "", "file for all figures as JSON; empty: none")
	from := flag.String("from", "", "a file that -out wrote: write its figures anew and measure nothing")
	limit := flag.Duration("limit", 35*time.Minute, "longest time for all")
	flag.Parse()
	if *from != "" {
		if err := l.report.read(*from); err != nil {
			return err
		}
		return to.write(l.report)
	}
	ctx, release := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within %v", *limit))
	defer release()
	l.ctx, l.log, l.report.Time = ctx, os.Stderr, time.Now().UTC()
	l.report.Machine = bench.ThisMachine()
	err := l.work(*only)
	l.stopServers()
	l.report.Setting = l.setting() + " The machine's load was " + bench.LoadAverage() + " when the run ended."
	fmt.Print(l.report.markdown(), l.report.readyTable())
	if err != nil {
		return err
	}
	if *out != "" {
		if err := l.report.save(*out); err != nil {
			return err
		}
	}
	if *only != "" {
		to.document, to.readme, to.chart = "", "", "" // they are of a whole run
	}
	return to.write(l.report)
}

// work runs the parts. If one fails, the figures of those before it are kept.
func (l *lab) work(only string) error {
	wanted := slices.DeleteFunc(names(), func(name string) bool { return slices.Contains(notInWhole, name) })
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	for _, name := range wanted {
		i := slices.Index(names(), name)
		if i < 0 {
			return fmt.Errorf("-only: %q is not known; there are %s", name, strings.Join(names(), ", "))
		}
		begin := time.Now()
		if err := works[i].measure(l); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(l.log, "— %s took %.0f s\n", name, time.Since(begin).Seconds())
	}
	return nil
}

func names() []string {
	var all []string
	for _, w := range works {
		all = append(all, w.name)
	}
	return all
}

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
		if l.report.Kernels, err = kernelsOf(l.ctx, s.client); err != nil {
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

// kernelsOf asks a Penstock server which kernels compute: they depend on the CPU, and the figures
// depend on them.
func kernelsOf(ctx context.Context, h *bench.HTTP) (string, error) {
	var props struct {
		Kernels *serving.Kernels `json:"kernels"`
	}
	if err := h.JSON(ctx, http.MethodGet, "/props", nil, &props); err != nil {
		return "", err
	}
	if props.Kernels == nil {
		return "", fmt.Errorf("%s/props says nothing of kernels", h.URL)
	}
	return props.Kernels.String(), nil
}
