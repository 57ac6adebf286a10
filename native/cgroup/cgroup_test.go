// SPDX-License-Identifier: MIT

package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// tree writes files of a made-up system, by their paths in it.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name, list string
		want       []Group
	}{
		{"version 2, nested", "0::/system.slice/penstock.service\n",
			[]Group{{"system.slice/penstock.service", false}, {"system.slice", false}, {".", false}}},
		{"version 2, in a container", "0::/\n", []Group{{".", false}}},
		{"version 2, outside of the container's", "0::/../elsewhere\n", []Group{{"elsewhere", false}, {".", false}}},
		{"version 1", "12:cpu,cpuacct:/docker/abc\n5:memory:/x\n",
			[]Group{{"cpu/docker/abc", true}, {"cpu/docker", true}, {"cpu", true}}},
		{"both", "1:cpu:/a\n0::/\n", []Group{{"cpu/a", true}, {"cpu", true}, {".", false}}},
		{"a colon in its name", "0::/a:b\n", []Group{{"a:b", false}, {".", false}}},
		{"another controller alone", "7:cpuset:/\n", nil},
		{"no list of groups", "nonsense\n\n", nil},
	} {
		root := tree(t, map[string]string{"self": c.list})
		got := Groups(filepath.Join(root, "self"), root, "cpu")
		for i := range c.want {
			c.want[i].Dir = filepath.Join(root, c.want[i].Dir)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if groups := Groups(filepath.Join(t.TempDir(), "absent"), "/", "cpu"); groups != nil {
		t.Errorf("without a list: %v", groups)
	}
}

func TestProcessors_TightestOfAll(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string // "self" is the list of groups
		want  float64
	}{
		{"its own", map[string]string{"self": "0::/\n", "cpu.max": "150000 100000\n"}, 1.5},
		{"none", map[string]string{"self": "0::/\n", "cpu.max": "max 100000\n"}, math.Inf(1)},
		{"no files", map[string]string{"self": "0::/\n"}, math.Inf(1)},
		{"of one around it", map[string]string{"self": "0::/pod/container\n", "pod/container/cpu.max": "400000 100000\n", "pod/cpu.max": "125000 50000\n"}, 2.5},
		{"tighter than those around it", map[string]string{"self": "0::/pod/container\n", "pod/container/cpu.max": "50000 100000\n", "pod/cpu.max": "max 100000\n"}, 0.5},
		{"of another group", map[string]string{"self": "0::/a\n", "a/cpu.max": "max 100000\n", "b/cpu.max": "50000 100000\n"}, math.Inf(1)},
		{"version 1", map[string]string{"self": "3:cpu,cpuacct:/a\n", "cpu/a/cpu.cfs_quota_us": "150000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 1.5},
		{"version 1, none", map[string]string{"self": "3:cpu:/a\n", "cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, math.Inf(1)},
		{"version 1, of one around it", map[string]string{"self": "3:cpu:/a/b\n", "cpu/a/b/cpu.cfs_quota_us": "-1\n", "cpu/a/b/cpu.cfs_period_us": "100000\n",
			"cpu/a/cpu.cfs_quota_us": "300000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 3},
		{"version 1, in a container that knows its name outside", map[string]string{"self": "3:cpu:/docker/abc\n", "cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2},
		{"nonsense", map[string]string{"self": "0::/\n", "cpu.max": "-5 0\n"}, math.Inf(1)},
		{"half of it", map[string]string{"self": "0::/\n", "cpu.max": "1000"}, math.Inf(1)},
		{"empty", map[string]string{"self": "3:cpu:/\n", "cpu/cpu.cfs_quota_us": "", "cpu/cpu.cfs_period_us": ""}, math.Inf(1)},
	} {
		root := tree(t, c.files)
		if got := processors(filepath.Join(root, "self"), root); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
