// SPDX-License-Identifier: MIT

// Command simulate tells how fleets of Penstock replicas serve many users: how long they wait,
// what the KV caches save, and how many machines it takes.
//
// It is a discrete-event simulation on virtual time. Each replica is the real scheduler on a
// machine that only knows what a forward pass costs. Users hold conversations, and a router sends
// each message to a replica.
//
// hardware.go has the machines, workload.go the conversations, router.go the ways to choose a
// replica. fleet.go is the loop over events. What is simulated for docs/scale.md stands here.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
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

// tables are those of docs/scale.md.
var tables = []struct {
	name  string
	write func(simulator) (string, error)
}{
	{"fleets", fleets},
	{"machines", needed},
	{"knowledge", knowledge},
}

func names() string {
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = t.name
	}
	return strings.Join(all, ", ")
}

// polling is how often routers ask each replica how it is.
const polling = 100 * time.Millisecond

const columns = "TTFT p50 | p99 | ITL p50 | p99 | queue p99 | cached | computing | slots | busiest | KV cells | refused |"

// row are a result's cells of those columns, times in milliseconds.
func (r *result) row() string {
	return fmt.Sprintf("%d | %d | %d | %d | %d | %.0f%% of %.0f%% | %.0f%% | %.0f%% | %.0f%% | %.0f%% | %d |",
		milliseconds(r.ttft.quantile(0.5)), milliseconds(r.ttft.quantile(0.99)), milliseconds(r.itl.quantile(0.5)), milliseconds(r.itl.quantile(0.99)),
		milliseconds(r.queued.quantile(0.99)), 100*r.hits(), 100*r.possible(), 100*r.computing, 100*r.slots, 100*r.busiest, 100*r.cells, r.refused)
}

// line is a Markdown table's line below its head.
func line(head string) string { return strings.Repeat("|---", strings.Count(head, "|")-1) + "|" }

// fleets are the policies in fleets of different sizes, all with as many users on a replica.
func fleets(s simulator) (string, error) {
	var setups []setup
	for _, h := range machines {
		for _, size := range h.sizes {
			for _, p := range policies {
				if size > 1 || p == random { // one replica leaves nothing to choose
					setups = append(setups, setup{hardware: h, size: size, policy: p, users: size * h.users, poll: polling})
				}
			}
		}
	}
	results, err := s.all(setups)
	if err != nil {
		return "", err
	}
	head := "| machine | replicas | users | routing | answers/s | " + columns
	text := head + "\n" + line(head) + "\n"
	for i, r := range results {
		text += setups[i].fleetRow(r) + "\n"
	}
	return text, nil
}

// fleetRow is a row of the table of fleets.
func (x *setup) fleetRow(r *result) string {
	return fmt.Sprintf("| %s | %d | %d | %s | %.1f | %s", x.hardware.name, x.size, x.users, x.policy, r.rate, r.row())
}

// active is how many of 100,000 users are active at once.
const active = 10_000

// needed is how many machines it takes for them. Two cores are left out: they are a thousand in
// the table of fleets.
func needed(s simulator) (string, error) {
	var setups []setup
	for _, h := range machines[1:] {
		for _, p := range policies {
			setups = append(setups, setup{hardware: h, policy: p, users: active, poll: polling})
		}
	}
	sizes := make([]int, len(setups))
	results := make([]*result, len(setups))
	err := s.each(len(setups), func(i int) (err error) {
		sizes[i], results[i], err = s.enough(setups[i])
		return err
	})
	if err != nil {
		return "", err
	}
	head := "| machine | routing | machines | " + columns
	text := head + "\n" + line(head) + "\n"
	for i, r := range results {
		size := fmt.Sprintf("**%d**", sizes[i])
		if sizes[i] == 0 {
			size = "none"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s\n", setups[i].hardware.name, setups[i].policy, size, r.row())
	}
	return text, nil
}

// knowledge is what it costs that routers know little: several that poll now and then.
func knowledge(s simulator) (string, error) {
	var setups []setup
	h := machines[2]
	for _, p := range []policy{leastLoad, prefixLoad} {
		for _, routers := range []int{1, 8} {
			for _, poll := range []time.Duration{0, polling, time.Second, 5 * time.Second} {
				if routers == 1 || poll > 0 { // all that know everything are one
					setups = append(setups, setup{hardware: h, size: 16, policy: p, users: 16 * h.users, routers: routers, poll: poll})
				}
			}
		}
	}
	results, err := s.all(setups)
	if err != nil {
		return "", err
	}
	head := "| routing | routers | poll | " + columns
	text := head + "\n" + line(head) + "\n"
	for i, r := range results {
		poll := "always current"
		if setups[i].poll > 0 {
			poll = setups[i].poll.String()
		}
		text += fmt.Sprintf("| %s | %d | %s | %s\n", setups[i].policy, setups[i].routers, poll, r.row())
	}
	return text, nil
}
