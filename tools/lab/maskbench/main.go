// SPDX-License-Identifier: MIT

// Command maskbench measures structured output without a server: which instances of JSON schemas
// may be written, and how long masks take.
//
//	xz -dc schemas.jsonl.xz | go run ./tools/lab/maskbench [-vocabulary model.gguf] [flags] [-]
//	go run ./tools/lab/maskbench [flags] schemas.jsonl
//
// A line is an object with the members name, schema and tests, which are objects with valid and
// data: the form of MaskBench (guidance-ai/jsonschemabench on GitHub, folder maskbench/data),
// whose data this project does not carry.
//
// A schema passes if it is read, every valid instance is possible, and every invalid one is not,
// with and without blanks behind commas and colons. Without a vocabulary, bytes are followed; with
// one, tokens: the longest that fit, as there is no tokenizer here.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/grammar/schema"
)

// orders are the values of -order.
var orders = map[string]schema.Order{"": schema.ByKind, "schema": schema.SchemaOrder, "any": schema.AnyOrder}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "maskbench:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("maskbench", flag.ContinueOnError)
	vocabulary := flags.String("vocabulary", "", "a GGUF `file` whose tokens the masks are over (default: bytes are followed, without masks)")
	order := flags.String("order", "", "property_order of each request: schema or any (default: what the server does)")
	tool := flags.Bool("tool", false, "only what may be a tool's arguments: schemas of type object whose valid instances are objects")
	processor := flags.Bool("processor", false, "measure processor time instead of the time that passes, on a machine that does other work besides")
	every := flags.Int("every", 1, "take each `n`th schema only")
	profile := flags.String("profile", "", "write where the time went into this `file`, for go tool pprof")
	list := flags.String("list", "", "write a line of JSON for each schema into this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o, ok := orders[*order]
	if !ok || *every < 1 || flags.NArg() > 1 {
		return errors.New("usage: maskbench [flags] [schemas.jsonl]; -order is schema or any, -every at least 1")
	}
	begun := time.Now()
	b := &bench{options: schema.Options{Order: o}, clock: func() time.Duration { return time.Since(begun) }}
	if *processor {
		var err error
		if b.clock, err = processorClock(); err != nil {
			return err
		}
	}
	if *vocabulary != "" {
		var err error
		if b.tokens, err = grammartest.Read(*vocabulary); err != nil {
			return err
		}
	}
	if name := flags.Arg(0); name != "" && name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	results, err := measureAll(b, in, *every, *tool)
	if err != nil {
		return err
	}
	if *list != "" {
		if err := writeList(*list, results); err != nil {
			return err
		}
	}
	return report(out, results, &b.times)
}

// measureAll measures the schemas of a text, one a line.
func measureAll(b *bench, in io.Reader, every int, tool bool) ([]result, error) {
	var results []result
	d := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	for n := 0; ; n++ {
		var c schemaCase
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, fmt.Errorf("schema %d: %w", n+1, err)
		}
		if n%every == 0 && (!tool || c.isTool()) {
			results = append(results, b.measure(&c))
		}
	}
}

func writeList(name string, results []result) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}
