// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/must"
)

// Each busy program is a process, and all have ended once they are stopped.
func TestBusy_EndsThem(t *testing.T) {
	stop, err := busy(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if stop, err = busy(0); err != nil || stop() != nil {
		t.Errorf("no program: %v", err)
	}
}

func TestContentionName(t *testing.T) {
	got := []string{contentionName(0, 1), contentionName(1, 8)}
	if diff := cmp.Diff([]string{"1 stream beside 0 busy programs", "8 streams beside 1 busy program"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLab_NoMoreMemory(t *testing.T) {
	var l lab
	l.noMoreMemory("memory", [2]float64{102, 100})
	l.noMoreMemory("memory", [2]float64{103, 100})
	l.noMoreMemory("memory", [2]float64{0, 100}) // nothing was measured
	want := []row{
		{"memory", "102 MiB", "llama-server: 100 MiB", "1.02 ×", "at most 1.02 ×", "yes"},
		{"memory", "103 MiB", "llama-server: 100 MiB", "1.03 ×", "at most 1.02 ×", "no"},
		{"memory", "0 MiB", "llama-server: 100 MiB", "0.00 ×", "at most 1.02 ×", "no"},
	}
	if diff := cmp.Diff(want, l.report.Rows); diff != "" {
		t.Error(diff)
	}
}

// A server is in its group before it begins, and keeps its arguments.
func TestInGroup_JoinsFirst(t *testing.T) {
	group := t.TempDir()
	c := inGroup(group, bench.Command{Program: "cat", Args: []string{filepath.Join(group, "cgroup.procs"), "-"}})
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Stdin = strings.NewReader("and a b")
	out := must.Get(cmd.Output())(t)
	if pid, rest, _ := strings.Cut(string(out), "\n"); pid == "" || strings.Trim(pid, "0123456789") != "" || rest != "and a b" {
		t.Errorf("%q", out)
	}
}

// A group has its limit in the words of either version of control groups, or is not left behind.
func TestNewGroup(t *testing.T) {
	for _, v1 := range []bool{true, false} {
		root := t.TempDir()
		dir := root
		if v1 {
			dir = filepath.Join(root, "cpu")
			must.Do(t, os.Mkdir(dir, 0o700))
		}
		g := must.Get(newGroup(root, 1.5))(t)
		if filepath.Dir(g.Dir) != dir || g.V1 != v1 {
			t.Errorf("%+v", g)
		}
		for name, want := range map[string]string{"cpu.max": "150000 100000", "cpu.cfs_quota_us": "150000", "cpu.cfs_period_us": "100000"} {
			if v1 == (name == "cpu.max") {
				continue
			}
			if got, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v; want %q", name, got, err, want)
			}
		}
	}
	if _, err := newGroup(filepath.Join(t.TempDir(), "absent"), 1.5); err == nil {
		t.Error("no error where there is no folder")
	}
}
