// SPDX-License-Identifier: MIT

//go:build linux

package compile

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock/penstock/host/plugin/fuel"
)

// orderIn has a spare's child compile a module into a folder.
func orderIn(t *testing.T, s *spare, name string) childEnd {
	t.Helper()
	return s.run(t.Context(), large(name).Wasm(), compileOrder{t.TempDir(), version(), fuel.DefaultLimits(), bounds{time.Minute, mostMemory}})
}

// After the first module a child waits for the next one, and compiles it.
func TestSpare_Run_UsesTheChildThatWaits(t *testing.T) {
	var s spare
	defer s.close()
	if end := orderIn(t, &s, "a"); end.err != nil {
		t.Fatalf("%+v", end)
	}
	s.prepare() // as run has it done, but now
	k := s.waiting
	if k == nil {
		t.Fatal("no child waits")
	}
	if end := orderIn(t, &s, "b"); end.err != nil || k.cmd.ProcessState == nil || k.cmd.ProcessState.ExitCode() != exitCompiled {
		t.Errorf("%+v; of the child that waited: %v", end, k.cmd.ProcessState)
	}
}

// A child that was killed while it waited is none: the next module is compiled by another one.
func TestSpare_Run_TheChildWasKilled_AnotherIsStarted(t *testing.T) {
	var s spare
	defer s.close()
	s.prepare()
	k := s.waiting
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, k.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil { // it is still to be waited for
		t.Fatal(err)
	}
	if end := orderIn(t, &s, "a"); end.err != nil {
		t.Errorf("%+v", end)
	}
}

// A child that waits has none of the server's keys: it compiles what others wrote.
func TestSpare_Prepare_TheChildHasNoSecrets(t *testing.T) {
	t.Setenv("PENSTOCK_SERVER_ADMIN_KEY", "secret")
	t.Setenv("HF_TOKEN", "secret")
	t.Setenv("LD_LIBRARY_PATH", "/needed")
	var s spare
	defer s.close()
	s.prepare()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.waiting.cmd.Process.Pid))
	if err != nil || strings.Contains(string(env), "secret") || !strings.Contains(string(env), "LD_LIBRARY_PATH=/needed\x00") {
		t.Errorf("%q, %v", env, err)
	}
}

// What waits for too long ends, and so does what waits when the plugins are closed. It leaves no
// process.
func TestSpare_Dismiss_TheChildEnds(t *testing.T) {
	var s spare
	for _, end := range []func(k *child){s.dismiss, func(*child) { s.close() }} {
		s.prepare()
		k := s.waiting
		if end(k); s.waiting != nil || k.cmd.ProcessState == nil || k.cmd.ProcessState.ExitCode() != exitCompiled {
			t.Errorf("waiting %v, ended as %v", s.waiting, k.cmd.ProcessState)
		}
	}
	if s.prepare(); s.waiting != nil {
		t.Error("a child was started after the end")
	}
}
