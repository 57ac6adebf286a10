// SPDX-License-Identifier: MIT

package deploy

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// replicas are the names of the replicas in haproxy.cfg.
var replicas = []string{"r1", "r2", "r3"}

// fleet is HAProxy, as haproxy.cfg sets it up, with three replicas that serve the built-in model.
type fleet struct {
	url     string // of the proxy
	status  string // where it tells what it knows
	home    string // of the replicas, with what they keep of the model
	flags   []string
	address map[string]string
	server  map[string]*server
}

// fleets counts those that were started.
var fleets atomic.Int32

// newFleet starts all and waits until the proxy leads to each replica. The timeouts, by their
// lines in haproxy.cfg, are other ones than there; the flags are for the replicas.
func newFleet(t *testing.T, timeouts map[string]string, flags ...string) *fleet {
	t.Helper()
	own := 16 * int(fleets.Add(1)%15) // fleets of tests that run at once have other addresses
	f := &fleet{home: t.TempDir(), flags: flags, address: map[string]string{}, server: map[string]*server{}}
	text := must.Get(os.ReadFile("../../deploy/haproxy.cfg"))(t)
	cfg := string(text)
	put := func(line, value string) {
		t.Helper()
		if !strings.Contains(cfg, line) {
			t.Fatalf("haproxy.cfg has no %q", line)
		}
		cfg = strings.ReplaceAll(cfg, line, line[:strings.LastIndexByte(line, ' ')+1]+value)
	}
	for line, value := range timeouts {
		put(line, value)
	}
	for i, name := range replicas {
		f.address[name] = freeAddress(t, own+i+1)
		put(fmt.Sprintf("server %s 127.0.0.1:808%d", name, i+1), f.address[name])
		f.start(t, name)
	}
	proxy, status := freeAddress(t, own+8), freeAddress(t, own+9)
	f.url, f.status = "http://"+proxy, "http://"+status
	put("bind :8080", proxy)
	put("bind 127.0.0.1:8404", status)
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	must.Do(t, os.WriteFile(path, []byte(cfg), 0o600))
	var said bytes.Buffer
	cmd := exec.Command(haproxy(t), "-db", "-f", path)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has nothing to keep
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the last that HAProxy said:\n%s", said.Bytes()[max(0, said.Len()-20_000):])
		}
	})
	for _, name := range replicas {
		f.await(t, name, "UP")
	}
	return f
}

// haproxy is the program, which Debian puts where only root's PATH looks.
func haproxy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	t.Fatal("there is no haproxy: `make setup-test` installs it")
	return ""
}

// The document shows the file as it is, and HAProxy has nothing against that.
func TestProxy_File(t *testing.T) {
	file := must.Get(os.ReadFile("../../deploy/haproxy.cfg"))(t)
	doc := must.Get(os.ReadFile("../../docs/haproxy.md"))(t)
	if !bytes.Contains(doc, append([]byte("```\n"), append(file, "```\n"...)...)) {
		t.Error("docs/haproxy.md does not show haproxy.cfg as it is: put it there")
	}
	if said, err := exec.Command(haproxy(t), "-c", "-f", "../../deploy/haproxy.cfg").CombinedOutput(); err != nil || bytes.Contains(said, []byte("WARNING")) {
		t.Errorf("HAProxy says of haproxy.cfg: %v\n%s", err, said)
	}
}

// freeAddress is one with a port that nobody uses. The host, one of the many of the loopback
// network, is this process's own, so that a replica that was ended finds its port free again.
func freeAddress(t *testing.T, n int) string {
	t.Helper()
	pid := os.Getpid()
	l := must.Get(net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 16+pid>>8&127, pid&255, n)))(t)
	defer l.Close() //nolint:errcheck // nobody has connected
	return l.Addr().String()
}

// start starts a replica.
func (f *fleet) start(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("../../bin/penstock", append([]string{"serve", "--listen", f.address[name], "--replica-name", name, "--threads", "1", "--ctx-size", "8192",
		"--shutdown-delay", "5s", "--shutdown-timeout", "10m"}, f.flags...)...)
	cmd.Dir = "."
	cmd.Env = append(os.Environ(), "HOME="+f.home, "XDG_CACHE_HOME="+f.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s := serve(t, cmd)
	f.server[name] = s
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill() // the test is over
			_ = s.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the last that %s said:\n%s", name, s.said.Bytes()[max(0, s.said.Len()-5_000):])
		}
	})
}

// restart ends a replica as an operator does, and starts it anew.
func (f *fleet) restart(t *testing.T, name string) {
	t.Helper()
	f.server[name].stop(t)
	f.start(t, name)
	f.await(t, name, "UP")
}

// await waits until the proxy says of a replica what becomes of new requests there.
func (f *fleet) await(t *testing.T, name, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		state, err := f.state(ctx, name)
		if state == want {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the proxy says of %s %q, %v; want %s", name, state, err, want)
		}
	}
}

// state is what the proxy says of a replica: UP, DOWN and others.
func (f *fleet) state(ctx context.Context, name string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.status+"/;csv", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	table := csv.NewReader(answer.Body)
	table.FieldsPerRecord = -1
	rows, err := table.ReadAll()
	if err != nil || len(rows) == 0 {
		return "", fmt.Errorf("the proxy's table: %w", err)
	}
	column := map[string]int{}
	for i, title := range rows[0] {
		column[title] = i
	}
	for _, row := range rows[1:] {
		if row[column["# pxname"]] == "replicas" && row[column["svname"]] == name {
			return row[column["status"]], nil
		}
	}
	return "", fmt.Errorf("the proxy knows no %s", name)
}
