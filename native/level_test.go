// SPDX-License-Identifier: MIT

package native

import (
	"slices"
	"strings"
	"testing"
)

func TestChooseLevel(t *testing.T) {
	all := []string{"x86-64", "avx2", "amx"}
	for _, c := range []struct {
		name    string
		all     []string
		offered int // of all
		forced  string
		failing []string
		want    string
		failed  []string
		err     string
	}{
		{name: "the highest offered", all: all, offered: 2, want: "avx2"},
		{name: "the next lower", all: all, offered: 3, failing: []string{"amx"}, want: "avx2", failed: []string{"amx"}},
		{name: "the lowest, whatever it does", all: all, offered: 3, failing: all, want: "x86-64", failed: []string{"amx", "avx2"}},
		{name: "forced, without a trial", all: all, offered: 3, forced: "avx2", failing: all, want: "avx2"},
		{name: "one that the CPU lacks", all: all, offered: 2, forced: "amx", err: `is "amx", and this CPU has only x86-64, avx2:`},
		{name: "none of this build", all: all, offered: 3, forced: "avx3", err: `is "avx3", and this program has only x86-64, avx2, amx:`},
		{name: "a build for one CPU"},
		{name: "forced in a build for one CPU", forced: "avx2", err: "built for one CPU only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			works := func(level string) bool { return !slices.Contains(c.failing, level) }
			got, err := chooseLevel(c.all, c.all[:c.offered], c.forced, works)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
			if got.Used != c.want || !slices.Equal(got.Failed, c.failed) || got.Forced != (err == nil && c.forced != "") {
				t.Errorf("got %+v, want %q and %q failed", got, c.want, c.failed)
			}
		})
	}
}

// A level is tried in a child, whose crash ends nothing else and prints nothing.
func TestTryLevel(t *testing.T) {
	if !tryLevel(currentLevel, false) {
		t.Error("what is in use does not work")
	}
	if tryLevel(currentLevel, true) {
		t.Error("a crash is no failure")
	}
}
