// SPDX-License-Identifier: MIT

package model

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/cgroup"
	"github.com/penstock/penstock/tools/must"
)

func TestMeminfo_ReadsTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	must.Do(t, os.WriteFile(path, []byte("MemTotal:  9 kB\nMemAvailable:   2048 kB\n"), 0o600))
	if got := meminfo(path, "MemAvailable:"); got != 2<<20 {
		t.Errorf("got %d", got)
	}
	if got := meminfo(path+"x", "MemAvailable:"); got != 0 {
		t.Errorf("an absent file gave %d", got)
	}
}

// groupFiles writes a control group's files.
func groupFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o700))
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func TestControlGroup_LimitLessUseButFiles(t *testing.T) {
	for _, c := range []struct {
		max, current, stat string
		want               uint64
		ok                 bool
	}{
		{"1000\n", "600\n", "anon 200\nfile 400\n", 800, true},
		{"1000\n", "600\n", "anon 200\nfile 400\nshmem 300\n", 500, true}, // which is no file that could be read again
		{"1000\n", "1200\n", "anon 1200\n", 0, true},
		{"max\n", "600\n", "", 0, false},
	} {
		root := t.TempDir()
		groupFiles(t, root, map[string]string{"memory.max": c.max, "memory.current": c.current, "memory.stat": c.stat, "self": "0::/\n"})
		groups := cgroup.Groups(filepath.Join(root, "self"), root, "memory")
		if len(groups) != 1 {
			t.Fatalf("%v", groups)
		}
		if got, ok := leftIn(groups[0]); got != c.want || ok != c.ok {
			t.Errorf("%v: %d, %t", c, got, ok)
		}
	}
}

// TestAvailable_GroupsAround: a limit of a group around this one counts, of either version, and so
// does that of a container whose process knows its group by the host's name.
func TestAvailable_GroupsAround(t *testing.T) {
	for _, c := range []struct {
		self  string
		dirs  map[string]uint64 // limits
		files [2]string
	}{
		{"0::/system.slice/penstock.service\n", map[string]uint64{"system.slice": 700, "system.slice/penstock.service": 900}, [2]string{"memory.max", "memory.current"}},
		{"0::/../elsewhere\n", map[string]uint64{".": 700}, [2]string{"memory.max", "memory.current"}},
		{"12:cpu,cpuacct:/x\n5:memory:/docker/abc\n", map[string]uint64{"memory": 700, "cpu": 1}, [2]string{"memory.limit_in_bytes", "memory.usage_in_bytes"}},
	} {
		root := t.TempDir()
		groupFiles(t, root, map[string]string{"self": c.self})
		for dir, limit := range c.dirs {
			groupFiles(t, filepath.Join(root, dir), map[string]string{c.files[0]: fmt.Sprint(limit), c.files[1]: "200"})
		}
		least := uint64(1000)
		for _, g := range cgroup.Groups(filepath.Join(root, "self"), root, "memory") {
			if left, ok := leftIn(g); ok {
				least = min(least, left)
			}
		}
		if least != 500 {
			t.Errorf("%q: %d bytes are left, want 500", c.self, least)
		}
	}
}
