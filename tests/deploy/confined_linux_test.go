// SPDX-License-Identifier: MIT

package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/penstock/penstock/tools/must"
)

// patience is how long a server may take to be ready, or to end, on a machine that is busy with
// other tests.
const patience = 5 * time.Minute

// nobody is a user that has no files.
const nobody = 65534

// The variables make this test a program that forbids itself what the service may not do, and then
// becomes the server.
const (
	confineEnv = "PENSTOCK_TEST_CONFINE" // names of the system calls that are allowed, with spaces between
	programEnv = "PENSTOCK_TEST_PROGRAM"
)

func TestMain(m *testing.M) {
	if calls := os.Getenv(confineEnv); calls != "" {
		fmt.Fprintln(os.Stderr, confine(strings.Fields(calls), os.Getenv(programEnv), os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// confine runs a program with a filter of system calls as systemd sets it up: what is not allowed
// fails with EPERM.
func confine(calls []string, program string, args []string) error {
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	var known []string
	for _, name := range calls {
		if _, ok := info.SyscallNames[name]; ok { // others are of other processors
			known = append(known, name)
		}
	}
	filter := seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{{Action: seccomp.ActionAllow, Names: known}}}}
	if err := seccomp.LoadFilter(filter); err != nil {
		return fmt.Errorf("load the filter of system calls: %w", err)
	}
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}

// place is a folder in which everything can be read by all and nothing can be written, with a copy
// of the binary and of a plugin.
type place struct{ dir, binary, temp string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // or else it could not be removed
		for _, path := range []string{dir, filepath.Join(dir, "plugins"), filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
			if err := os.Chmod(path, 0o700); err != nil {
				t.Error(err)
			}
		}
	})
	p := place{dir: dir, binary: filepath.Join(dir, "penstock"), temp: filepath.Join(dir, "tmp")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(filepath.Dir(dir), 0o755)) // which is only for the user that runs this
	must(errors.Join(os.Mkdir(filepath.Join(dir, "plugins"), 0o700), os.Mkdir(filepath.Join(dir, "home"), 0o555), os.Mkdir(p.temp, 0o700)))
	must(copyFile("../../bin/penstock", p.binary, 0o555))
	must(copyFile("../../build/plugins/banned-phrases.wasm", filepath.Join(dir, "plugins", "banned-phrases.wasm"), 0o444))
	must(copyFile("../../host/model/penstock-tiny.gguf", filepath.Join(dir, "model.gguf"), 0o444))
	must(errors.Join(os.Chmod(filepath.Join(dir, "plugins"), 0o555), os.Chmod(p.temp, 0o777), os.Chmod(dir, 0o555)))
	return p
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("%w: run `make build plugins` first", err)
	}
	return os.WriteFile(to, data, mode)
}

// command starts the server in the place, as another user where this one could write everywhere.
func (p place) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append([]string{"serve", "--listen", "127.0.0.1:0", "--threads", "1"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + filepath.Join(p.dir, "home"), "TMPDIR=" + p.temp, "PATH=/usr/bin:/bin", "PENSTOCK_SERVER_ADMIN_KEY=" + adminKey}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

const adminKey = "the-admin-key-of-the-tests"

// server is one that runs, with what it has said.
type server struct {
	cmd  *exec.Cmd
	url  string
	said *bytes.Buffer
}

// serve starts a server and waits until it is ready.
func serve(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{cmd: cmd, said: &bytes.Buffer{}}
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = s.said
	must.Do(t, cmd.Start())
	line := make([]byte, 200)
	n, err := out.Read(line)
	if s.url = strings.TrimSpace(string(line[:n])); err != nil || s.url == "" {
		t.Fatalf("the server does not start: %v, %v: %s", err, cmd.Wait(), s.said)
	}
	return s
}

// stop ends the server as systemd does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait()); err != nil {
		t.Errorf("the server ended with %v: %s", err, s.said)
	}
}

// ask sends a request and returns the answer.
func (s *server) ask(t *testing.T, path, kind, body string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+adminKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%v: %s", err, s.said)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text := must.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(text)
}

// works has the server answer with a plugin, which was compiled by it.
func (s *server) works(t *testing.T) {
	t.Helper()
	body := `{"messages":[{"role":"user","content":"Tell me a story about a frog."}],"temperature":0,"max_tokens":40,
		"plugins":[{"name":"banned-phrases","config":{"phrases":["once upon"]}}]}`
	if status, text := s.ask(t, "/v1/chat/completions", "application/json", body); status != 200 || !strings.Contains(text, `"content":"`) {
		t.Errorf("%d %s; the server says %s", status, text, s.said)
	}
}
