// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
)

// patience is how long a process may take for what it does at once, on a machine that is busy with
// other tests.
const patience = 5 * time.Minute

// asMain makes the test binary behave as penstock, for tests that need a process.
const asMain = "PENSTOCK_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	local.Init()
	spawn.Run(compute.Child())
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(runTests(m))
}

// runTests keeps the user's own folders out of the tests, and has models compute on one thread: on
// a busy machine several would wait for each other.
func runTests(m *testing.M) int {
	home, err := os.MkdirTemp("", "penstock-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(home) }()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CACHE_HOME": home, "XDG_DATA_HOME": home, "PENSTOCK_MODEL_THREADS": "1",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// result is what a command left.
type result struct {
	code     int
	out, err string
}

// penstock runs a command in this process, with in as its standard input.
func penstock(t *testing.T, in string, args ...string) result {
	t.Helper()
	return penstockIn(t.Context(), in, args...)
}

// penstockIn is penstock in a context.
func penstockIn(ctx context.Context, in string, args ...string) result {
	var out, errOut strings.Builder
	code := execute(ctx, args, strings.NewReader(in), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// child prepares a command as a process of its own.
func child(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}
