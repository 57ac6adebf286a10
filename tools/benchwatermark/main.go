// SPDX-License-Identifier: MIT

// Command benchwatermark measures with a real model how often a watermark is found in marked texts,
// and how often in others.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
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
		fmt.Fprintln(os.Stderr, "benchwatermark:", err)
		stop()
		os.Exit(1)
	}
}

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
	c := &client{ctx: ctx, url: server.URL}
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
	if *document == "" {
		return nil
	}
	return section.Of("make bench-watermark", "").Replace(*document, report)
}
