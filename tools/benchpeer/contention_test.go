// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
