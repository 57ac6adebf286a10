// SPDX-License-Identifier: MIT

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// The program that `make dist` packs serves in a root folder with nothing else in it, and the
// README's commands do there what the README says, at each level that this CPU has. None of a
// level's kernels is found broken.
func TestDist_Readme_EmptyRoot(t *testing.T) {
	archive := os.Getenv("PENSTOCK_TEST_DIST")
	if archive == "" {
		t.Skip("`make dist-test` runs this")
	}
	unpacked := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", unpacked, "--strip-components=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	program := filepath.Join(unpacked, "bin", "penstock")
	for _, level := range levels(t, program) {
		t.Run(level, func(t *testing.T) {
			doctor(t, program, level)
			readmePlugin(t, newPlaceWith(t, program, []string{"PENSTOCK_CPU_LEVEL=" + level}, inEmptyRoot))
		})
	}
}

// doctor has the program try its kernels at a level.
func doctor(t *testing.T, program, level string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "doctor", "--listen", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PENSTOCK_CPU_LEVEL=" + level}
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "attention: penstock") || strings.Contains(string(said), "is broken") {
		t.Errorf("%v: doctor says %s", err, said)
	}
}

// levels are those that the CPU has, by what the program says where it is forced to one that
// nobody has.
func levels(t *testing.T, program string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "PENSTOCK_CPU_LEVEL=amx9")
	said, err := cmd.CombinedOutput()
	_, list, ok := strings.Cut(string(said), "has only ")
	list, _, _ = strings.Cut(list, ":")
	if err == nil || !ok {
		t.Fatalf("forced to a level that there is not, the program says %s (%v)", said, err)
	}
	var all []string
	for _, level := range strings.Split(list, ", ") {
		cmd := exec.CommandContext(t.Context(), program, "version")
		cmd.Env = append(os.Environ(), "PENSTOCK_CPU_LEVEL="+level)
		if said, err := cmd.CombinedOutput(); err == nil {
			all = append(all, level)
		} else if !strings.Contains(string(said), "this CPU has only") {
			t.Errorf("forced to %s it says %s", level, said)
		}
	}
	return all
}

// inEmptyRoot has a server see nothing but the place, the program as /penstock, and what the
// kernel offers.
func inEmptyRoot(t *testing.T, p place, server *exec.Cmd) {
	t.Helper()
	program := must.Get(os.ReadFile(server.Path))(t)
	p.write(t, "penstock", string(program))
	for _, folder := range []string{"proc", "dev", "tmp"} {
		must.Do(t, os.Mkdir(filepath.Join(p.dir, folder), 0o700))
	}
	// In name spaces of its own, so that the mounts end with the server and no root is needed.
	script := `mount --rbind /proc proc; mount --rbind /dev dev; exec chroot . /penstock "$@"`
	unshare := must.Get(exec.LookPath("unshare"))(t)
	server.Path = unshare
	server.Args = append([]string{unshare, "--user", "--map-root-user", "--mount", "sh", "-ec", script, "sh"}, server.Args[1:]...)
	server.Env = append(server.Env, "HOME=/", "XDG_DATA_HOME=/data", "XDG_CACHE_HOME=/cache", "TMPDIR=/tmp")
}
