// SPDX-License-Identifier: MIT

// Command benchprograms compares programs, which are plugins that own a request, with clients that
// do the same over HTTP: they prompt again for each continuation. It tells how many tokens the
// server has computed, and how long that took.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
	"github.com/penstock/penstock/tools/section"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchprograms:", err)
		stop()
		os.Exit(1)
	}
}

// tasks are what is compared: a name, the program's part of a request, and the client.
var tasks = []struct {
	name    string
	plugins string
	client  func(c *client, prompt string) error
}{
	{"`beam`, width 4, 24 tokens", `[{"name":"beam","config":{"width":4}}]`, (*client).beam},
	{"`best-of`, 4 answers of 24 tokens", `[{"name":"best-of","config":{"n":4}}]`, (*client).bestOf},
	{"`choice`, 8 answers", `[{"name":"choice","config":{"choices":` + choices + `}}]`, (*client).choice},
}

func run(ctx context.Context) error {
	penstock := flag.String("penstock", "bin/penstock", "the penstock binary")
	model := flag.String("model", "", "GGUF file; empty: the built-in model")
	dir := flag.String("plugin-dir", "build/plugins", "folder of the example plugins")
	words := flag.Int("words", 300, "words of a prompt")
	rounds := flag.Int("rounds", 5, "how often all take turns; the median counts")
	threads := flag.Int("threads", runtime.NumCPU(), "threads of the server")
	document := flag.String("document", "", "write the table into this file, between its markers")
	flag.Parse()

	size := bench.Size{Slots: 8, Context: 8 * 2048, Threads: *threads}
	server, err := bench.Start(ctx, bench.Penstock(*penstock, *model, size, "--plugin-dir", *dir))
	if err != nil {
		return err
	}
	defer server.Stop()
	warm := &client{ctx: ctx, url: server.URL}
	if _, err := warm.complete(map[string]any{"prompt": "Hello", "n_predict": 8, "ignore_eos": true}); err != nil { // from now on there are counters
		return err
	}
	table := []string{
		"| | program | | client | | client, nothing cached | |",
		"|---|---:|---:|---:|---:|---:|---:|",
		"| | tokens | ms | tokens | ms | tokens | ms |",
	}
	for i, task := range tasks {
		row := "| " + task.name
		measured := make([][]cost, 3)
		for round := range *rounds {
			for way := range measured {
				c := &client{ctx: ctx, url: server.URL, cache: way < 2}
				prompt := prompt(fmt.Sprintf("%d.%d.%d", i, round, way), *words) // of its own, so that nothing of it is cached before
				work := func() error { return task.client(c, prompt) }
				if way == 0 {
					work = func() error { return c.program(prompt, task.plugins) }
				}
				spent, err := c.measure(work)
				if err != nil {
					return fmt.Errorf("%s: %w", task.name, err)
				}
				measured[way] = append(measured[way], spent)
			}
		}
		for _, costs := range measured {
			var tokens, times []float64
			for _, c := range costs {
				tokens, times = append(tokens, c.tokens), append(times, float64(c.time)/float64(time.Millisecond))
			}
			row += fmt.Sprintf(" | %.0f | %.0f", bench.Median(tokens), bench.Median(times))
		}
		table = append(table, row+" |")
		fmt.Println(table[len(table)-1])
	}
	if *document == "" {
		return nil
	}
	return section.Of("make bench-programs", "").Replace(*document, "\n"+strings.Join(table, "\n")+"\n\n")
}

// prompt is a text of about so many words, which begins with a name.
func prompt(name string, words int) string {
	story := strings.Fields("the little frog wanted to see what was behind the big hill so he asked his mother who told him that the way was long")
	text := []string{"Story", name + ":"}
	for i := range words {
		text = append(text, story[(i*i+3*i)%len(story)])
	}
	return strings.Join(text, " ")
}
