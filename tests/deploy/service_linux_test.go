// SPDX-License-Identifier: MIT

// Package deploy tests what the folder deploy has for those who run Penstock: systemd's service,
// container files, HAProxy and the archive of make dist.
package deploy

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// unit writes the service for a binary elsewhere than in /usr/bin.
func unit(t *testing.T, binary string) string {
	t.Helper()
	text := must.Get(os.ReadFile("../../deploy/penstock.service"))(t)
	path := filepath.Join(t.TempDir(), "penstock.service")
	must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/bin/penstock", binary)), 0o600))
	return path
}

// analyze runs systemd-analyze.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatalf("%v: `make setup-test` installs it", err)
	}
	said, err := exec.Command(program, args...).CombinedOutput()
	return string(said), err
}

// systemd knows each line of the service and says nothing against it.
func TestService_Verify(t *testing.T) {
	path := unit(t, "/bin/true")
	said, err := analyze(t, "verify", "--man=no", path)
	for line := range strings.Lines(said) {
		if strings.Contains(line, path) || strings.Contains(line, "penstock.service") {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	if err != nil {
		t.Errorf("systemd-analyze verify: %v: %s", err, said)
	}
}

// What systemd-analyze calls the exposure of the service, from 0 to 10, stays low: a protection
// that is taken away raises it.
func TestService_Exposure(t *testing.T) {
	if said, err := analyze(t, "security", "--offline=yes", "--threshold=14", unit(t, "/bin/true")); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, said)
	}
}

// settings are the values that the service has for a key, in order.
func settings(t *testing.T, key string) (values []string) {
	t.Helper()
	file := must.Get(os.Open("../../deploy/penstock.service"))(t)
	defer file.Close() //nolint:errcheck // it was read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok && name == key {
			values = append(values, value)
		}
	}
	return values
}

// allowedCalls are the names of the system calls that the service may make, as systemd understands
// its filters.
func allowedCalls(t *testing.T) []string {
	t.Helper()
	allowed := map[string]bool{}
	for _, value := range settings(t, "SystemCallFilter") {
		set, denied := strings.CutPrefix(value, "~")
		for _, name := range callsOf(t, set) {
			allowed[name] = !denied
		}
	}
	var names []string
	for name, ok := range allowed {
		if ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// callsOf are the system calls of one of systemd's sets, such as @system-service.
func callsOf(t *testing.T, set string) (names []string) {
	t.Helper()
	said, err := analyze(t, "syscall-filter", "--no-pager", set)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for line := range strings.Lines(said) {
		switch name := strings.TrimSpace(line); {
		case name == "" || name == set || strings.HasPrefix(name, "#"):
		case strings.HasPrefix(name, "@"):
			names = append(names, callsOf(t, name)...)
		default:
			names = append(names, name)
		}
	}
	return names
}
