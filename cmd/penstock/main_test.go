// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/tools/must"
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
	self := must.Get(os.Executable())(t)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

func TestExecute_WrongUse(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	must.Do(t, os.WriteFile(broken, []byte("server:\n  lisen: here\n"), 0o600))
	for name, tc := range map[string]struct {
		args []string
		want string // in the message
	}{
		"unknown command":     {[]string{"rnu"}, "did you mean 'penstock run'?"},
		"unknown subcommand":  {[]string{"config", "x"}, "see 'penstock config --help'"},
		"unknown flag":        {[]string{"run", "--bogus"}, "--bogus"},
		"flag without value":  {[]string{"serve", "--listen"}, "--listen"},
		"not a number":        {[]string{"run", "--max-tokens", "many", "x"}, "--max-tokens"},
		"negative":            {[]string{"run", "--max-tokens", "-1", "x"}, "--max-tokens is -1; it must be 0 or more"},
		"out of range":        {[]string{"run", "--temperature", "NaN", "x"}, "temperature"},
		"too many arguments":  {[]string{"version", "x"}, `unexpected argument "x"`},
		"no prompt":           {[]string{"run"}, "there is no prompt"},
		"wrong value":         {[]string{"serve", "--parallel", "0"}, "scheduler.slots"},
		"llama-server's flag": {[]string{"serve", "--logit-bias", "5+1"}, "--logit-bias is a flag of llama-server that is absent here: set them in the request"},
		"quantised V":         {[]string{"serve", "-ctv", "q8_0", "-fa", "off"}, "model.cache_type_v = \"q8_0\" (flag --cache-type-v): must be f32"},
		"no type of metadata": {[]string{"serve", "--override-kv", "a.b=i32:1"}, "KEY=TYPE:VALUE"},
		"two scales":          {[]string{"serve", "--rope-scale", "2", "--rope-freq-scale", "0.5"}, "without model.rope_freq_scale"},
		"wrong address":       {[]string{"serve", "--listen", "here"}, "server.listen"},
		"absent file":         {[]string{"serve", "--config", "absent.yaml"}, "absent.yaml"},
		"unknown key":         {[]string{"config", "check", "--config", broken}, "server.lisen"},
		"two that exclude":    {[]string{"plugin", "list", "--json", "--lock"}, "[json lock] were all set; see 'penstock plugin list --help'"},
	} {
		t.Run(name, func(t *testing.T) {
			over, end := context.WithCancel(t.Context()) // a server that begins after all ends at once
			end()
			got := penstockIn(over, "", tc.args...)
			if got.code != exitWrongUse || !strings.Contains(got.err, tc.want) || got.out != "" {
				t.Errorf("penstock %v = %d, error %q, output %q; want %d and %q", tc.args, got.code, got.err, got.out, exitWrongUse, tc.want)
			}
		})
	}
}

// What is wrong with flags together is wrong use in every command, whichever way its flags are
// bound to each other.
func TestExecute_FlagsThatDoNotFit(t *testing.T) {
	for name, tc := range map[string]struct {
		bind func(*cobra.Command)
		args []string
		want string
	}{
		"exclude each other": {func(c *cobra.Command) { c.MarkFlagsMutuallyExclusive("a", "b") }, []string{"--a", "--b"}, "[a b] were all set"},
		"belong together":    {func(c *cobra.Command) { c.MarkFlagsRequiredTogether("a", "b") }, []string{"--a"}, "missing [b]"},
		"one of them":        {func(c *cobra.Command) { c.MarkFlagsOneRequired("a", "b") }, nil, "at least one"},
		"required": {func(c *cobra.Command) {
			must.Do(t, c.MarkFlagRequired("a"))
		}, nil, `"a" not set`},
	} {
		root := newRoot()
		try := &cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error { t.Errorf("%s: it runs", name); return nil }}
		try.Flags().Bool("a", false, "")
		try.Flags().Bool("b", false, "")
		tc.bind(try)
		root.AddCommand(newGroup("deep", "", try))
		root.SetArgs(append([]string{"deep", "try"}, tc.args...))
		err := root.ExecuteContext(t.Context())
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "see 'penstock deep try --help'") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExecute_Help(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help", "run"}, {"config"}, {"serve", "-h"}} {
		got := penstock(t, "", args...)
		if got.code != exitDone || !strings.Contains(got.out, "Usage:") || got.err != "" {
			t.Errorf("penstock %v = %d, error %q, output %q; want help on standard output", args, got.code, got.err, got.out)
		}
	}
}

func TestVersion(t *testing.T) {
	got := penstock(t, "", "version", "--json")
	var b build
	if err := json.Unmarshal([]byte(got.out), &b); err != nil {
		t.Fatalf("%v in %q (%s)", err, got.out, got.err)
	}
	if b != describeBuild() {
		t.Errorf("version --json = %+v, want %+v", b, describeBuild())
	}
	for name, value := range map[string]string{"llama.cpp": b.LlamaCPP, "backend": b.Backend, "stamp": b.BuildStamp, "Go": b.Go} {
		if value == "" {
			t.Errorf("the version of %s is empty", name)
		}
	}
	if text := penstock(t, "", "version").out; !strings.Contains(text, "llama.cpp "+b.LlamaCPP) {
		t.Errorf("version prints %q", text)
	}
	if flag, command := penstock(t, "", "--version"), penstock(t, "", "version"); flag.out != command.out || flag.err != "" {
		t.Errorf("--version prints %q and %q, version %q", flag.out, flag.err, command.out)
	}
	for own, want := range map[bool]string{true: "with Penstock's kernels", false: "PENSTOCK_KERNELS=OFF"} {
		if got := kernelsText(own); !strings.Contains(got, want) {
			t.Errorf("with own kernels %t it says %q", own, got)
		}
	}
}
