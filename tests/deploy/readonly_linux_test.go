// SPDX-License-Identifier: MIT

package deploy

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// As in a container whose root file system is read-only, with a folder for temporary files:
// neither the home folder nor the working folder nor the plugin folder can be written, and there
// is no cache. The server serves, and says what it does without.
func TestBinary_ReadOnly_Serves(t *testing.T) {
	p := newPlace(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	s := serve(t, p.command(ctx, p.binary))
	s.works(t)
	wasm, err := os.ReadFile("../../build/plugins/chatml.wasm")
	if err != nil {
		t.Fatalf("%v: run `make plugins` first", err)
	}
	if status, text := s.ask(t, "/v1/plugins", "application/wasm", string(wasm)); status != 500 || !strings.Contains(text, "failed to write the plugin") {
		t.Errorf("an upload: %d %s", status, text)
	}
	s.works(t)
	s.stop(t)
	if said := s.said.String(); !strings.Contains(said, "plugins are compiled anew at each start") || !strings.Contains(said, filepath.Join(p.dir, "home", ".cache")) {
		t.Errorf("it does not say where it could not write: %s", said)
	}
	if left, err := os.ReadDir(p.temp); err != nil || len(left) != 0 {
		t.Errorf("temporary files: %v, %v", left, err)
	}
}

// Without a folder for temporary files either, a model of one's own is served, and for the
// built-in model the server says what it lacks.
func TestBinary_NothingWritable(t *testing.T) {
	p := newPlace(t)
	must.Do(t, os.Chmod(p.temp, 0o555))
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	s := serve(t, p.command(ctx, p.binary, "model.gguf"))
	s.works(t)
	s.stop(t)
	for name, env := range map[string]string{"a home": "", "no home": "HOME="} {
		cmd := p.command(ctx, p.binary)
		if env != "" {
			cmd.Env = append(cmd.Env, env)
		}
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "XDG_CACHE_HOME or TMPDIR") || !strings.Contains(string(said), p.temp) {
			t.Errorf("%s: %v: %s", name, err, said)
		}
		if strings.Contains(string(said), adminKey) {
			t.Errorf("%s: it shows the key: %s", name, said)
		}
	}
}

// With the system calls that the service allows, the server loads a model, tries it in a child,
// compiles plugins and answers.
func TestService_SystemCalls_Suffice(t *testing.T) {
	p := newPlace(t)
	program := must.Get(os.Executable())(t)
	own := filepath.Join(p.temp, "confine")
	must.Do(t, copyFile(program, own, 0o555))
	calls := allowedCalls(t)
	for _, name := range []string{"mount", "ptrace", "bpf", "chroot", "reboot", "init_module"} {
		for _, allowed := range calls {
			if name == allowed {
				t.Errorf("the service may call %s", name)
			}
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := p.command(ctx, own)
	cmd.Env = append(cmd.Env, confineEnv+"="+strings.Join(calls, " "), programEnv+"="+p.binary, "XDG_CACHE_HOME="+filepath.Join(p.temp, "cache"))
	s := serve(t, cmd)
	s.works(t)
	if status, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status"); err != nil || !strings.Contains(string(status), "Seccomp:\t2") {
		t.Errorf("the server runs without the filter: %v %s", err, status)
	}
	s.stop(t)
	if said := s.said.String(); strings.Contains(said, "operation not permitted") {
		t.Errorf("something is forbidden that the server tries: %s", said)
	}
}
