// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
)

var (
	busyPrograms = []int{0, 1, 2, 4}
	// contended are the numbers of streams, and how many times as fast as llama-server they are to
	// be beside busy programs.
	contended = []struct {
		streams int
		least   float64
	}{{1, 1.1}, {8, 1.5}}
)

// contendedWindow is how long each is measured.
const contendedWindow = 5 * time.Second

// contention measures streams while other programs take the processors.
func (l *lab) contention() error {
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(8*time.Minute, func(round int) error {
		for _, programs := range busyPrograms {
			for _, c := range contended {
				if err := l.contend(targets, programs, c.streams, round); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, programs := range busyPrograms {
		for _, c := range contended {
			name := contentionName(programs, c.streams)
			l.faster(name+", tokens/s", name, tokensPerSecond, c.least)
			l.notHigher(name, streamGaps)
		}
	}
	return nil
}

func contentionName(programs, streams int) string {
	return fmt.Sprintf("%s beside %s", plural(streams, "stream"), plural(programs, "busy program"))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (l *lab) contend(targets []bench.Target, programs, streams, round int) error {
	stop, err := busy(programs)
	if err != nil {
		return err
	}
	s := bench.Mixed(uint64(seedContention+100*streams), contentionName(programs, streams), streams, 0, 0, contendedWindow)
	return errors.Join(l.round(targets, s, round), stop())
}

// busy starts programs that do nothing but count, each on one processor at a time. They are of
// this process's session, as the servers are, since a kernel may divide the processors among
// sessions first.
func busy(programs int) (stop func() error, err error) {
	var running []*exec.Cmd
	stop = func() error {
		var failed error
		for _, c := range running {
			failed = errors.Join(failed, c.Process.Kill())
			_ = c.Wait() // says that it was killed
		}
		return failed
	}
	for range programs {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return nil, errors.Join(err, stop())
		}
		running = append(running, c)
	}
	return stop, nil
}

// machineLoad is how many threads have run or waited for a processor in the last minute, on
// average, in words; empty: the system does not say.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return " The machine's load was " + minute + " when the run ended."
}
