// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A worker tells its address, doctor finds its devices, and a signal ends it.
func TestWorker(t *testing.T) {
	w := startWorker(t, 0, "--listen", "127.0.0.1:0", "--kernels", "penstock", "--threads", "0") // as if neither were given
	if got := penstock(t, "", "doctor", "--rpc", w.address); !strings.Contains(got.out, "CPU of "+w.address) {
		t.Errorf("doctor does not list the worker: %s%s", got.out, got.err)
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &w.log)
	}
	if got := penstock(t, "", "doctor", "--rpc", w.address); got.code != exitFailed || !strings.Contains(got.out, "the worker "+w.address+" cannot be reached") {
		t.Errorf("doctor without the worker: %s%s", got.out, got.err)
	}
}

// A cache folder that cannot be used costs time, and not the worker.
func TestWorker_CacheUnusable(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	if err := os.MkdirAll(filepath.Join(home, "penstock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "penstock", "tensors"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := startWorker(t, 0, "--listen", "127.0.0.1:0")
	if got := penstock(t, "", "doctor", "--rpc", w.address); !strings.Contains(got.out, "CPU of "+w.address) {
		t.Errorf("the worker serves nobody: %s%s", got.out, got.err)
	}
	if !strings.Contains(w.log.String(), "the cache folder cannot be used") {
		t.Errorf("the log does not say so: %s", &w.log)
	}
}

func TestWorker_WrongUse(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"worker", "--listen", "0.0.0.0:0"}, exitWrongUse, "0.0.0.0:0 is not on the loopback interface, and RPC has neither keys nor encryption"},
		{[]string{"worker", "--listen", "[]:0", "--insecure"}, exitWrongUse, `--listen is "[]:0"; it must be HOST:PORT`},
		{[]string{"serve", "--host", "127.0.0.1", "--host", "::1"}, exitWrongUse, `it was "127.0.0.1" before, and only one can be served`},
		{[]string{"worker", "--tls-cert", "a.pem"}, exitWrongUse, "tls-ca"},
		{[]string{"worker", "--tls-cert", "a.pem", "--tls-key", "a.pem", "--tls-ca", "a.pem"}, exitFailed, "a.pem"},
		{[]string{"worker", "--tls-cert", "", "--tls-key", "", "--tls-ca", ""}, exitWrongUse, "--tls-cert is empty"},
		{[]string{"serve", "--api-key", ""}, exitWrongUse, "server.api_keys (flag --api-key): is empty"},
		{[]string{"worker", "--device", "GPU77"}, exitFailed, `--device names "GPU77", which is no device of this machine`},
		{[]string{"worker", "--kernels", "popcorn"}, exitWrongUse, `--kernels is "popcorn"; it can be penstock, amx, ggml or plain`},
		{[]string{"serve", "--rpc", "10.0.0.1"}, exitWrongUse, "workers.rpc"},
		{[]string{"serve", "--tls-cert", "a.pem"}, exitWrongUse, "workers.tls_ca"},
	} {
		if got := penstock(t, "", c.args...); got.code != c.code || !strings.Contains(got.err, c.want) {
			t.Errorf("penstock %v = %d, %q; want %d and %q", c.args, got.code, got.err, c.code, c.want)
		}
	}
}
