// SPDX-License-Identifier: MIT

// Command simulate tells how fleets of Penstock replicas serve many users: how long they wait,
// what the KV caches save, and how many machines it takes.
//
// It is a discrete-event simulation on virtual time. Each replica is the real scheduler on a
// machine that only knows what a forward pass costs. Users hold conversations, and a router sends
// each message to a replica.
//
// hardware.go has the machines, workload.go the conversations, router.go the ways to choose a
// replica. fleet.go is the loop over events, and tables.go says what is simulated for
// docs/scale.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/penstock/penstock/tools/section"
)

// defaultSeed is that of docs/scale.md.
const defaultSeed = 1

func main() {
	document := flag.String("document", "", "write the tables into this file, between its markers; else print them")
	only := flag.String("only", "", "the one table to make: "+names())
	seed := flag.Uint64("seed", defaultSeed, "seed of everything that happens at random")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "simulations at once")
	flag.Parse()
	if err := run(*document, *only, *seed, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(document, only string, seed uint64, workers int) error {
	known := false
	for _, t := range tables {
		if only != "" && only != t.name {
			continue
		}
		known = true
		start := time.Now()
		text, err := t.write(simulator{seed, workers})
		if err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		fmt.Fprintf(os.Stderr, "table %s took %v\n", t.name, time.Since(start).Round(time.Second))
		if document == "" {
			fmt.Println(text)
		} else if err := section.Of("make simulate", t.name).Replace(document, "\n"+text+"\n"); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("-only %q is no table; there are %s", only, names())
	}
	return nil
}
