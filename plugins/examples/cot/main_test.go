// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"math"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// What the program does with a model, its cases have: the margins are those of the table there.

func TestChoose_LargestMarginOrSum(t *testing.T) {
	none := measured{"", noMargin}
	for _, c := range []struct {
		all           []measured
		alone, summed int
	}{
		{[]measured{none, none}, 0, 0},
		{[]measured{none, {"5", -0.9}}, 1, 1},
		{[]measured{{"5", 0.7}, {"8", 0.4}, none, {"8", 0.5}}, 0, 3},
		{[]measured{{"5", 0.7}, {"8", 0.1}, {"8", 0.5}}, 0, 0},
	} {
		if alone, summed := choose(c.all, false), choose(c.all, true); alone != c.alone || summed != c.summed {
			t.Errorf("of %v: %d, and by sums %d, want %d and %d", c.all, alone, summed, c.alone, c.summed)
		}
	}
}

func TestVariance_OfSurprise(t *testing.T) {
	logs := func(all ...float64) (row []float32) {
		for _, p := range all {
			row = append(row, float32(math.Log(p))+7)
		}
		return row
	}
	for _, c := range []struct {
		row  []float32
		want float64
	}{
		{logs(0.25, 0.25, 0.25, 0.25), 0},
		{logs(1, 0, 0), 0},
		{logs(0.8, 0.2, 0), 0.16 * math.Ln2 * math.Ln2 * 4}, // p(1−p)·ln²(p/(1−p)), and 4 is 2²
	} {
		if got := variance(c.row, 7); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("of %v it is %v, want %v", c.row, got, c.want)
		}
	}
}

func TestCot_Open_RefusesABadExpression(t *testing.T) {
	if _, err := plugintest.TryOpen[cot](t, plugintest.Request{Config: `{"answer":"("}`}); !errors.Is(err, plugintest.ErrRefused) {
		t.Errorf("it is opened: %v", err)
	}
}
