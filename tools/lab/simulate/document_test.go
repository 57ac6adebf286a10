// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

// TestDocument_Fleets_StillHold simulates two rows of docs/scale.md anew. The same program writes
// the same rows. One with another scheduler may differ by as much as chance does; if it differs by
// more, "make simulate" has to write all tables anew.
func TestDocument_Fleets_StillHold(t *testing.T) {
	document, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range steadytest.Some(t, []*hardware{machines[0], machines[3]}, 1) {
		x := setup{hardware: h, size: 1, policy: random, users: h.users, poll: polling}
		r, err := simulator{seed: defaultSeed, workers: 1}.one(x)
		if err != nil {
			t.Fatal(err)
		}
		got := x.fleetRow(r)
		begin := fmt.Sprintf("| %s | 1 | %d | %s |", h.name, h.users, random)
		_, rest, found := strings.Cut(string(document), "\n"+begin)
		want, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Errorf("docs/scale.md has no row %q", begin)
		} else if !similar(strings.Fields(got), strings.Fields(begin+want)) {
			t.Errorf("now it is\n%s\nand docs/scale.md says\n%s\nso \"make simulate\" has to write it anew", got, begin+want)
		}
	}
}

// similar reports whether two rows have the same words, and numbers that differ by no more than a
// quarter or two.
func similar(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		x, errX := strconv.ParseFloat(strings.TrimSuffix(a, "%"), 64)
		y, errY := strconv.ParseFloat(strings.TrimSuffix(b, "%"), 64)
		if errX != nil || errY != nil {
			return a == b
		}
		return math.Abs(x-y) <= max(2, max(x, y)/4)
	})
}

func TestSimilar(t *testing.T) {
	row := "| H100 | 9 | 400 | 50% of 93% |"
	for other, want := range map[string]bool{row: true, "| H100 | 11 | 320 | 52% of 91% |": true, "| H200 | 9 | 400 | 50% of 93% |": false,
		"| H100 | 9 | 290 | 50% of 93% |": false, "| H100 | 9 | 400 | 30% of 93% |": false, "| H100 | 9 | 400 |": false} {
		if got := similar(strings.Fields(row), strings.Fields(other)); got != want {
			t.Errorf("%q is similar to %q: %t", other, row, got)
		}
	}
}
