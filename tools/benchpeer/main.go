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
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/bench"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchpeer:", err)
		stop()
		os.Exit(1)
	}
}

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
	l.report.Setting = l.setting() + machineLoad()
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
