// SPDX-License-Identifier: MIT

package steadytest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestRand_DrawsAgain(t *testing.T) {
	t.Setenv(seedEnv, "7")
	a, b := Rand(t), Rand(t)
	for range 10 {
		if x, y := a.Uint64(), b.Uint64(); x != y {
			t.Fatalf("drew %d and %d from one seed", x, y)
		}
	}
	t.Setenv(seedEnv, "8")
	if Rand(t).Uint64() == rand.New(rand.NewPCG(7, 0)).Uint64() {
		t.Error("two seeds draw the same number")
	}
}

func TestSeed_IsTheDay(t *testing.T) {
	t.Setenv(seedEnv, "")
	before := time.Now().UTC().Format("20060102000000")
	got := strconv.FormatUint(Seed(t), 10)
	if after := time.Now().UTC().Format("20060102000000"); got != before && got != after {
		t.Errorf("got %s on %s", got, after)
	}
}

func TestInLongTest(t *testing.T) {
	for set, want := range map[string]int{"": 1, "1": 10} {
		t.Setenv(longEnv, set)
		if got := InLongTest(10, 1); got != want || Long() != (want == 10) {
			t.Errorf("%s=%s: %d, long %v", longEnv, set, got, Long())
		}
	}
}

func TestSome_ATenthOrAll(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	t.Setenv(longEnv, "")
	t.Setenv(seedEnv, "7")
	first := Some(t, all, 3)
	if len(first) != 10 || !slices.IsSorted(first) || !slices.Equal(first, Some(t, all, 3)) {
		t.Errorf("some are %v, then %v", first, Some(t, all, 3))
	}
	if n := len(Some(t, all[:20], 7)); n != 7 {
		t.Errorf("%d instead of 7", n)
	}
	t.Setenv(longEnv, "1")
	if n := len(Some(t, all, 3)); n != 100 {
		t.Errorf("%d of 100 in a long test", n)
	}
}

// What waits costs nothing, what works does.
func TestCost_IsWork(t *testing.T) {
	waits := Cost(t, func() { time.Sleep(50 * time.Millisecond) })
	sum := 0
	works := Cost(t, func() {
		for i := range 50_000_000 {
			sum += i & sum
		}
	})
	if waits >= works {
		t.Errorf("a sleep costs %v, %d steps cost %v", waits, sum, works)
	}
}
