// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/native/cgroup"
	"github.com/penstock/penstock/tools/lab/bench"
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

// quotaProcessors is what the servers may use of the processors while the part quota runs.
const quotaProcessors = 1.5

// quota measures streams of servers that may use the processors only for a part of the time, as in
// a container. Each takes as many threads as it does by itself. Where this process may make no
// control group, nothing is measured.
func (l *lab) quota() (err error) {
	group, err := newGroup(cgroup.Root, quotaProcessors)
	if err != nil {
		fmt.Fprintf(l.log, "no control group can be made, so servers with a quota are not measured: %v\n", err)
		return nil
	}
	l.group = group.Dir
	defer func() {
		l.stopServers() // or else the group is not empty
		l.group = ""
		err = errors.Join(err, os.Remove(group.Dir))
	}()
	size := l.many()
	size.Threads = 0
	targets, err := l.targets(size, penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(2*time.Minute, func(round int) error {
		for _, c := range contended {
			s := bench.Mixed(uint64(seedQuota+100*c.streams), quotaName(c.streams), c.streams, 0, 0, contendedWindow)
			if err := l.round(targets, s, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range contended {
		name := quotaName(c.streams)
		l.faster(name+", tokens/s", name, tokensPerSecond, c.least)
		l.notHigher(name, streamGaps)
	}
	return nil
}

func quotaName(streams int) string {
	return fmt.Sprintf("%s with a quota of %v processors", plural(streams, "stream"), quotaProcessors)
}

// newGroup makes a control group under root that bounds how many processors all its processes use.
func newGroup(root string, processors float64) (cgroup.Group, error) {
	g := cgroup.Group{Dir: filepath.Join(root, "cpu"), V1: true}
	if _, err := os.Stat(g.Dir); err != nil {
		g = cgroup.Group{Dir: root}
	}
	g.Dir = filepath.Join(g.Dir, fmt.Sprintf("penstock-bench-%d", os.Getpid()))
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		return g, err
	}
	const period = 100_000 // µs, as container runtimes have it
	limits := [][2]string{{"cpu.max", fmt.Sprintf("%.0f %d", processors*period, period)}}
	if g.V1 {
		limits = [][2]string{{"cpu.cfs_period_us", fmt.Sprint(period)}, {"cpu.cfs_quota_us", fmt.Sprintf("%.0f", processors*period)}}
	}
	for _, limit := range limits {
		if err := os.WriteFile(filepath.Join(g.Dir, limit[0]), []byte(limit[1]), 0o644); err != nil {
			return g, errors.Join(err, os.Remove(g.Dir))
		}
	}
	return g, nil
}

// inGroup has a server join a control group before it starts.
func inGroup(group string, c bench.Command) bench.Command {
	c.Args = append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group, c.Program}, c.Args...)
	c.Program = "sh"
	return c
}
