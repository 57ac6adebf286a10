// SPDX-License-Identifier: MIT

// Command benchprograms compares programs, which are plugins that own a request, with clients that
// do the same over HTTP: they prompt again for each continuation. It tells how many tokens the
// server has computed, and how long that took.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/section"
	"golang.org/x/sync/errgroup"
)

func main() { bench.Main("benchprograms", run) }

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
	h := bench.NewHTTP(server.URL)
	defer h.Close()
	warm := &client{HTTP: h, ctx: ctx}
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
				c := &client{HTTP: h, ctx: ctx, cache: way < 2}
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
	return section.Of("make bench-programs", "").Replace(*document, "\n"+strings.Join(table, "\n")+"\n\n")
}

// prompt returns a text of about words words that begins with a name.
func prompt(name string, words int) string {
	story := strings.Fields("the little frog wanted to see what was behind the big hill so he asked his mother who told him that the way was long")
	text := []string{"Story", name + ":"}
	for i := range words {
		text = append(text, story[(i*i+3*i)%len(story)])
	}
	return strings.Join(text, " ")
}

// choices are the answers that are scored.
const choices = `[" a frog"," the mother"," the big hill"," what was behind it"," a long way"," nobody"," the little frog"," his mother and he"]`

const (
	width = 4  // continuations
	most  = 24 // tokens of an answer
)

// client asks a server.
type client struct {
	*bench.HTTP
	ctx   context.Context //nolint:containedctx // one client does one piece of work
	cache bool            // the server may use what it has of a prompt
}

// cost is what some work has cost.
type cost struct {
	tokens float64 // that the server has computed
	time   time.Duration
}

// measure measures some work.
func (c *client) measure(work func() error) (spent cost, err error) {
	before, err := c.tokens()
	if err != nil {
		return spent, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return spent, err
	}
	spent.time = time.Since(began)
	after, err := c.tokens()
	spent.tokens = after - before
	return spent, err
}

// tokens is how many tokens the server has computed so far.
func (c *client) tokens() (float64, error) {
	const computed = "penstock_batch_tokens_sum"
	m, err := c.Metrics(c.ctx)
	sum, known := m.Sum(computed)
	if err == nil && !known {
		err = errors.New("GET /metrics does not tell how many tokens were computed: " + computed)
	}
	return sum, err
}

// completion is the part of an answer that clients use.
type completion struct {
	Content       string
	Probabilities []struct {
		Top []struct {
			ID      int
			Logprob float64
		} `json:"top_logprobs"`
	} `json:"completion_probabilities"`
}

func (c *client) complete(fields map[string]any) (answer completion, err error) {
	fields["cache_prompt"] = c.cache
	err = c.JSON(c.ctx, http.MethodPost, "/completion", fields, &answer)
	return answer, err
}

// program has a plugin do the work.
func (c *client) program(prompt, plugins string) error {
	_, err := c.complete(map[string]any{"prompt": prompt, "n_predict": most, "ignore_eos": true, "plugins": json.RawMessage(plugins)})
	return err
}

// beam prompts for the next token of each continuation, with its likeliest candidates.
func (c *client) beam(prompt string) error {
	type hypothesis struct {
		tokens []int
		sum    float64
	}
	live := []hypothesis{{}}
	for range most {
		answers := make([]completion, len(live))
		var group errgroup.Group
		for i, h := range live {
			group.Go(func() (err error) {
				mixed := []any{prompt}
				for _, t := range h.tokens {
					mixed = append(mixed, t)
				}
				answers[i], err = c.complete(map[string]any{"prompt": mixed, "n_predict": 1, "n_probs": 2 * width, "temperature": 0, "ignore_eos": true})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		var next []hypothesis
		for i, h := range live {
			for _, p := range answers[i].Probabilities {
				for _, t := range p.Top {
					next = append(next, hypothesis{append(slices.Clip(h.tokens), t.ID), h.sum + t.Logprob})
				}
			}
		}
		slices.SortStableFunc(next, func(a, b hypothesis) int { return cmp.Compare(b.sum, a.sum) })
		if live = next[:min(width, len(next))]; len(live) == 0 {
			return fmt.Errorf("an answer has no probabilities: %+v", answers)
		}
	}
	return nil
}

// bestOf asks for several answers with their log-probabilities.
func (c *client) bestOf(prompt string) error {
	var group errgroup.Group
	for i := range width {
		group.Go(func() error {
			_, err := c.complete(map[string]any{"prompt": prompt, "n_predict": most, "n_probs": 1, "seed": i, "ignore_eos": true})
			return err
		})
	}
	return group.Wait()
}

// choice asks for the log-probabilities of the prompt with each answer.
func (c *client) choice(prompt string) error {
	var texts []string
	if err := json.Unmarshal([]byte(choices), &texts); err != nil {
		return err
	}
	var group errgroup.Group
	for _, text := range texts {
		group.Go(func() error {
			return c.JSON(c.ctx, http.MethodPost, "/v1/completions",
				map[string]any{"prompt": prompt + text, "max_tokens": 0, "echo": true, "logprobs": 0, "cache_prompt": c.cache}, nil)
		})
	}
	return group.Wait()
}
