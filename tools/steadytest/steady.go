// SPDX-License-Identifier: MIT

// Package steadytest keeps chance out of tests: it draws random numbers that can be drawn again,
// chooses which of many cases to try, and measures work.
//
// It measures what other programs do not change.
package steadytest

import (
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// seedEnv has a test draw once more what it drew when it failed.
const seedEnv = "PENSTOCK_TEST_SEED"

// longEnv has tests try all that they can.
const longEnv = "PENSTOCK_TEST_LONG"

// Long reports whether tests shall try all that they can, as in `make test-long`. Otherwise they
// take samples, which Seed chooses.
func Long() bool { return os.Getenv(longEnv) != "" }

// InLongTest is long if everything is to be tested, else short.
func InLongTest(long, short int) int {
	if Long() {
		return long
	}
	return short
}

// Seed is another number each day, so that samples differ but runs of one day can be compared. A
// test may count on from it: the next day's is a million higher. A test that fails says how to get
// the same number again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	year, month, day := time.Now().UTC().Date()
	seed := uint64((year*100+int(month))*100+day) * 1_000_000 //nolint:gosec // a date is positive
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s is %q; it has to be a number that a test has said: %v", seedEnv, text, err)
		}
	}
	t.Logf("%s=%d draws the same again", seedEnv, seed)
	return seed
}

// Rand draws from Seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Some is a tenth of all, and no fewer than least, in their order; in `make test-long` it is all of
// them. Seed chooses, so of two lists of one length the same places: a test that combines them
// lists the combinations.
func Some[T any](t testing.TB, all []T, least int) []T {
	t.Helper()
	n := max(least, (len(all)+9)/10)
	if Long() || n >= len(all) {
		return all
	}
	chosen := Rand(t).Perm(len(all))[:n]
	slices.Sort(chosen)
	some := make([]T, 0, n)
	for _, i := range chosen {
		some = append(some, all[i])
	}
	return some
}

// Cost is the processor time that f takes of all cores, the least of three runs, without that of
// the garbage collector, which would fall to whoever allocates when it is due. Compare it with what
// work of the same kind costs: a slower machine, a sanitizer and the race detector change both
// alike, and other programs hardly change either.
func Cost(t testing.TB, f func()) time.Duration {
	t.Helper()
	least := time.Duration(1<<63 - 1)
	for range 3 {
		least = min(least, once(t, f))
	}
	return least
}

// Within reports whether f takes no more processor time than a bound, as Cost has it. It runs f
// once where it does, and three times more before it says that it does not.
func Within(t testing.TB, bound time.Duration, f func()) (time.Duration, bool) {
	t.Helper()
	if took := once(t, f); took <= bound {
		return took, true
	}
	took := Cost(t, f)
	return took, took <= bound
}

// mostGarbage is how much memory may be in use before the collector runs all the same.
const mostGarbage = 2 << 30

// once is the processor time of one run, in which garbage is left lying until it is too much.
func once(t testing.TB, f func()) time.Duration {
	t.Helper()
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(mostGarbage))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := used(t)
	f()
	return used(t) - before
}

// used is the processor time that this process has taken.
func used(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
