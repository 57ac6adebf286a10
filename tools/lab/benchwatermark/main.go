// SPDX-License-Identifier: MIT

// Command benchwatermark measures with a real model how often a watermark is found in marked texts,
// and how often in others.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/section"
	"golang.org/x/sync/errgroup"
)

func main() { bench.Main("benchwatermark", run) }

func run(ctx context.Context) error {
	penstock := flag.String("penstock", "bin/penstock", "the penstock binary")
	model := flag.String("model", "build/models/smollm2-135m-q4_1.gguf", "GGUF file")
	dir := flag.String("plugin-dir", "build/plugins", "folder of the example plugins")
	answers := flag.Int("answers", 32, "answers of each kind, and half as many of the short ones")
	keys := flag.Int("keys", 50, "keys that each window of unmarked text is tested with")
	kept := flag.String("kept", "", "file in which answers are kept: those that it has are not generated again")
	document := flag.String("document", "", "write the tables into this file, between their markers")
	flag.Parse()

	server, err := bench.Start(ctx, bench.Penstock(*penstock, *model, bench.Size{Slots: streams, Context: streams * 2048, Threads: runtime.NumCPU()}, "--plugin-dir", *dir))
	if err != nil {
		return err
	}
	defer server.Stop()
	c := &client{bench.NewHTTP(server.URL), ctx}
	defer c.Close()
	all, err := generate(c, *answers, *kept)
	if err != nil {
		return err
	}
	texts, err := unmarkedTexts(c, all["unmarked"])
	if err != nil {
		return err
	}
	alarms, err := falseAlarms(texts, *keys)
	if err != nil {
		return err
	}
	lengths, err := powerByLength(c, all)
	if err != nil {
		return err
	}
	effects, err := powerByEffect(c, all)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(*model), ".gguf")
	report := fmt.Sprintf("\n%s, %s. An alarm is a p-value below 0.00001.\n\n%s\n%s\n%s\n", name, time.Now().Format("January 2006"), alarms, lengths, effects)
	fmt.Print(report)
	return section.Of("make bench-watermark", "").Replace(*document, report)
}

// alarm is the p-value below which a text is taken for marked.
const alarm = 1e-5

// falseAlarms tests each window with several keys, with which nothing has been marked.
func falseAlarms(texts []textKind, keys int) (string, error) {
	bounds := [...]float64{1e-3, 1e-4, alarm}
	table := []string{"| unmarked text, windows of 200 tokens | windows | tests of gumbel | p < 0.001 | p < 0.0001 | alarms | tests of green | p < 0.001 | p < 0.0001 | alarms |", "|---|" + strings.Repeat("---:|", 9)}
	all := make([]int64, 1+2*(1+len(bounds)))
	random := rand.New(rand.NewPCG(1, 1))
	for _, text := range texts {
		counts := []int64{int64(len(text.windows))}
		for _, scheme := range []string{watermark.Gumbel, watermark.Green} {
			var tests int64
			var low [len(bounds)]atomic.Int64
			var g errgroup.Group
			g.SetLimit(2)
			for range keys {
				key := fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
				d, err := watermark.New(configOf(scheme, key))
				if err != nil {
					return "", err
				}
				tests += int64(len(text.windows))
				g.Go(func() error {
					for _, w := range text.windows {
						p := d.Detect(w).PValue
						for i, bound := range bounds {
							if p < bound {
								low[i].Add(1)
							}
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				return "", err
			}
			counts = append(counts, tests)
			for i := range low {
				counts = append(counts, low[i].Load())
			}
		}
		table = append(table, row(text.name, counts))
		for i, n := range counts {
			all[i] += n
		}
	}
	return strings.Join(append(table, row("all", all)), "\n") + "\n", nil
}

func row(name string, counts []int64) string {
	cells := []string{name}
	for _, n := range counts {
		cells = append(cells, fmt.Sprint(n))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// found counts texts, and those of them whose first tokens are taken for marked.
type found struct {
	texts, alarms int
	p             []float64
}

// find tests the first tokens of texts; 0: all.
func find(c *client, texts []string, scheme string, tokens int) (f found, err error) {
	d, err := watermark.New(configOf(scheme, secret))
	if err != nil {
		return f, err
	}
	for _, text := range texts {
		all, err := c.tokenize(text)
		if err != nil {
			return f, err
		}
		if len(all) < tokens {
			continue
		}
		if tokens > 0 {
			all = all[:tokens]
		}
		r := d.Detect(all)
		f.texts++
		if r.PValue < alarm {
			f.alarms++
		}
		f.p = append(f.p, r.PValue)
	}
	return f, nil
}

func (f found) String() string {
	if f.texts == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", f.alarms, f.texts)
}

// powerByLength is how often the mark is found in the first tokens of an answer.
func powerByLength(c *client, all map[string][]string) (string, error) {
	lengths := []int{25, 50, 100, 200, 390}
	table := []string{"| found in the first tokens |", "|---|"}
	for _, n := range lengths {
		table[0] += fmt.Sprintf(" %d |", n)
		table[1] += "---:|"
	}
	table[0] += " median p, 200 tokens |"
	table[1] += "---:|"
	for _, k := range kinds[1:5] {
		line := fmt.Sprintf("| %s, temperature %.1f |", k.scheme, k.fields["temperature"])
		for _, n := range lengths {
			f, err := find(c, all[k.name], k.scheme, n)
			if err != nil {
				return "", err
			}
			line += " " + f.String() + " |"
		}
		f, err := find(c, all[k.name], k.scheme, 200)
		if err != nil {
			return "", err
		}
		table = append(table, line+fmt.Sprintf(" %.0e |", bench.Median(f.p)))
	}
	return strings.Join(table, "\n") + "\n", nil
}

// powerByEffect is how often the mark is found in up to 200 tokens that something has been done to.
func powerByEffect(c *client, all map[string][]string) (string, error) {
	table := []string{"| found in about 200 tokens | gumbel | median p | green | median p |", "|---|---:|---:|---:|---:|"}
	same := func(text string) string { return text }
	for _, effect := range []struct {
		name  string
		kinds string // what follows the scheme in the name of the kind
		edit  func(string) string
	}{
		{"temperature 1.0, and no sampler drops tokens", "whole", same},
		{"temperature 1.0, the usual samplers", "1.0", same},
		{"the same, from the middle of a word on", "1.0", func(text string) string { return text[min(len(text), 137):] }},
		{"one word in ten is another", "1.0", func(text string) string { return replaced(text, 10) }},
		{"one word in five is another", "1.0", func(text string) string { return replaced(text, 5) }},
		{"temperature 0.3", "0.3", same},
		{"temperature 0", "0", same},
		{"a JSON schema, temperature 1.0", "schema", same},
		{"the model repeats a text that it was given", "recite", same},
		{"written by the program `beam`", "beam", same},
	} {
		line := "| " + effect.name + " |"
		for _, scheme := range []string{watermark.Gumbel, watermark.Green} {
			var texts []string
			for _, text := range all[scheme+" "+effect.kinds] {
				texts = append(texts, effect.edit(text))
			}
			f, err := findFirst(c, texts, scheme, windowTokens)
			if err != nil {
				return "", err
			}
			if f.texts == 0 {
				line += " – | – |"
				continue
			}
			line += fmt.Sprintf(" %v | %.0e |", f, bench.Median(f.p))
		}
		table = append(table, line)
	}
	return strings.Join(table, "\n") + "\n", nil
}

// findFirst is find for texts that may be shorter.
func findFirst(c *client, texts []string, scheme string, tokens int) (all found, err error) {
	for _, text := range texts {
		f, err := find(c, []string{text}, scheme, tokens)
		if err == nil && f.texts == 0 {
			f, err = find(c, []string{text}, scheme, 0)
		}
		if err != nil {
			return all, err
		}
		all.texts, all.alarms, all.p = all.texts+f.texts, all.alarms+f.alarms, slices.Concat(all.p, f.p)
	}
	return all, nil
}

// replaced returns the text with about one in every words replaced by another word of the text.
func replaced(text string, every int) string {
	words := strings.Split(text, " ")
	random := rand.New(rand.NewPCG(uint64(len(text)), 1))
	for i := range words {
		if random.IntN(every) == 0 {
			words[i] = words[random.IntN(len(words))]
		}
	}
	return strings.Join(words, " ")
}
