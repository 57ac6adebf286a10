// SPDX-License-Identifier: MIT

package model

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMeminfo_ReadsTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(path, []byte("MemTotal:  9 kB\nMemAvailable:   2048 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := meminfo(path, "MemAvailable:"); got != 2<<20 {
		t.Errorf("got %d", got)
	}
	if got := meminfo(path+"x", "MemAvailable:"); got != 0 {
		t.Errorf("an absent file gave %d", got)
	}
}

func TestGroupMemory_LimitLessUseButFiles(t *testing.T) {
	for _, c := range []struct {
		max, current, stat string
		want               uint64
		ok                 bool
	}{
		{"1000\n", "600\n", "anon 200\nfile 400\n", 800, true},
		{"1000\n", "1200\n", "anon 1200\n", 0, true},
		{"max\n", "600\n", "", 0, false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"memory.max": c.max, "memory.current": c.current, "memory.stat": c.stat} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := groupMemory(dir); got != c.want || ok != c.ok {
			t.Errorf("%v: %d, %t", c, got, ok)
		}
	}
	if _, ok := groupMemory(filepath.Join(t.TempDir(), "absent")); ok {
		t.Error("an absent group has a limit")
	}
}
