// SPDX-License-Identifier: MIT

package deploy

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// runBeside has a copy of scripts/run.sh start cat as the server, with a program of our own in
// make's place.
func runBeside(t *testing.T, makes string) (c *exec.Cmd, folder string) {
	t.Helper()
	folder = t.TempDir()
	script := must.Get(os.ReadFile("../../scripts/run.sh"))(t)
	for name, content := range map[string]string{"scripts/run.sh": string(script), "bin/make": "#!/usr/bin/env bash\n" + makes, "build/README": ""} {
		path := filepath.Join(folder, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(content), 0o700))
	}
	c = exec.CommandContext(t.Context(), filepath.Join(folder, "scripts/run.sh"), "cat")
	c.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
	return c, folder
}

// The server waits for no plugin, and what is still being built ends with it.
func TestRun_BuildEndsWithServer(t *testing.T) {
	c, folder := runBeside(t, "exec 9>building && echo $* >&9 && exec sleep 1000")
	must.Do(t, syscall.Mkfifo(filepath.Join(folder, "building"), 0o600))
	in := must.Get(c.StdinPipe())(t)
	out := must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	building, err := os.Open(filepath.Join(folder, "building")) // waits for make
	if err != nil {
		t.Fatal(err)
	}
	defer building.Close() //nolint:errcheck // it was only read
	lines := bufio.NewReader(building)
	if got, err := lines.ReadString('\n'); err != nil || !strings.HasSuffix(got, "bundled\n") {
		t.Fatalf("make was called with %q, %v", got, err)
	}
	must.Get(in.Write([]byte("x")))(t)
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Errorf("while make runs the server does not: %v", err)
	}
	must.Do(t, in.Close())
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // until make has ended
		t.Errorf("%q, %v", rest, err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// One line says so while the server runs on, and the log has the rest.
func TestRun_BuildFails(t *testing.T) {
	c, folder := runBeside(t, "echo no compiler; exit 2")
	in := must.Get(c.StdinPipe())(t)
	says := must.Get(c.StderrPipe())(t)
	must.Do(t, c.Start())
	if line, err := bufio.NewReader(says).ReadString('\n'); err != nil || !strings.Contains(line, "build/bundled.log") {
		t.Errorf("%q, %v", line, err)
	}
	if log, err := os.ReadFile(filepath.Join(folder, "build/bundled.log")); err != nil || string(log) != "no compiler\n" {
		t.Errorf("the log has %q, %v", log, err)
	}
	if err := errors.Join(in.Close(), c.Wait()); err != nil {
		t.Error(err)
	}
}
