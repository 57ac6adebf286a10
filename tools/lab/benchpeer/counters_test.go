// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"testing"
)

func TestParseMachineTime_CountsWhatOthersTook(t *testing.T) {
	busy, all := parseMachineTime("cpu  100 200 300 1000 500 10 20 70 33 0\ncpu0 1 2 3\n")
	if busy != 7 || all != 22 {
		t.Errorf("%v of %v", busy, all)
	}
	for _, bad := range []string{"", "cpu", "cpu one\n"} {
		if busy, all := parseMachineTime(bad); busy != 0 || all != 0 {
			t.Errorf("%q: %v of %v", bad, busy, all)
		}
	}
}

func TestCounters_TellOwnWork(t *testing.T) {
	c := countersOf(os.Getpid())
	sum := 0
	for i := range 1 << 20 {
		sum += i
	}
	if n := c.stop(); n.CPU <= 0 || n.Seconds <= 0 || n.Others < 0 {
		t.Errorf("%+v, and %d", n, sum)
	}
}
