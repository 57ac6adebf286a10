// SPDX-License-Identifier: MIT

// Command passpicture draws which threads of a forward pass compute, wait for each other, or have
// no processor, from a trace of Linux's scheduler.
//
// A panel is a part of a trace: record.sh makes one. The threads drawn are those that met at ggml's
// barrier in that part. How much of the time each state takes in the whole trace is printed.
//
//	go run ./tools/passpicture -o picture.svg "threads spin=before.trace@1200ms" "threads nap=after.trace@800ms"
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "passpicture:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "file to write, as SVG")
	length := flag.Duration("length", 60*time.Millisecond, "time that a panel shows")
	title := flag.String("title", "Two threads of a forward pass beside a busy program", "title of the picture")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		return errors.New(`name the file with -o, and panels: "title=trace@begin"`)
	}
	var panels []panel
	for _, argument := range flag.Args() {
		p, err := readPanel(argument, *length)
		if err != nil {
			return fmt.Errorf("%q: %w", argument, err)
		}
		fmt.Printf("%s: %s\n", p.title, p.share)
		panels = append(panels, p)
	}
	return os.WriteFile(*out, []byte(picture(*title, panels, *length)), 0o644)
}

// readPanel reads what an argument names: "title=file@begin", the begin counted from the trace's
// first event.
func readPanel(argument string, length time.Duration) (panel, error) {
	title, rest, _ := strings.Cut(argument, "=")
	path, begin, found := strings.Cut(rest, "@")
	if !found {
		return panel{}, errors.New(`a panel is "title=trace@begin"`)
	}
	from, err := time.ParseDuration(begin)
	if err != nil {
		return panel{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return panel{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	events, err := parse(file)
	if err != nil {
		return panel{}, err
	}
	lanes := lanesOf(events, from, from+length)
	if len(lanes) == 0 {
		return panel{}, fmt.Errorf("no thread met another at the barrier from %v to %v", from, from+length)
	}
	end := events[len(events)-1].at
	return panel{title, lanes, inWords(lanesOf(events, 0, end))}, nil
}
