// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// workerProcess is penstock worker in a process of its own.
type workerProcess struct {
	cmd     *exec.Cmd
	address string
	log     lockedText
}

// lockedText is a log that is read while a process writes it.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startWorker starts a worker that allocates no more than limit bytes, if that is not 0. Its
// threads have small stacks: the limit counts their whole size, 8 MiB each otherwise, and how many
// threads there are depends on what else the machine does.
func startWorker(t testing.TB, limit uint64, args ...string) *workerProcess {
	t.Helper()
	w := &workerProcess{cmd: child(t.Context(), t, append([]string{"worker", "--threads", "1", "--kernels", "ggml"}, args...)...)}
	limitMemory(w.cmd, limit)
	w.cmd.Stderr = &w.log
	out := must.Get(w.cmd.StdoutPipe())(t)
	must.Do(t, w.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the worker did not say where it is: %v\n%v\n%s", err, w.cmd.Wait(), &w.log)
	}
	w.address = strings.TrimSpace(line)
	t.Cleanup(w.kill)
	return w
}

// limitMemory has a process that is not started yet give its threads stacks of 1 MiB and allocate
// no more than so many bytes; 0: no limit.
func limitMemory(cmd *exec.Cmd, bytes uint64) {
	limits := "ulimit -s 1024"
	if bytes > 0 {
		limits += fmt.Sprint(" && ulimit -d ", bytes>>10)
	}
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", limits + ` && exec "$0" "$@"`}, cmd.Args...)
}

// kill ends the worker as the kernel would, without a word to anybody.
func (w *workerProcess) kill() {
	if w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait() // it was killed
	}
}

// authority signs certificates for hosts and workers of the loopback interface.
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	a := authority{folder: t.TempDir()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.certificate, a.key = a.sign(t, "ca", template)
	return a
}

// sign writes a certificate and its key into the folder. The first one signs itself.
func (a authority) sign(t testing.TB, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	text := must.Get(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer))(t)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	a.write(t, name+".crt", "CERTIFICATE", text)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	certificate := must.Get(x509.ParseCertificate(text))(t)
	return certificate, key
}

func (a authority) write(t testing.TB, name, kind string, data []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(a.folder, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
}

// flags are those of a host or a worker with a certificate of this authority, which trusts its own.
func (a authority) flags(t testing.TB, name string) []string {
	t.Helper()
	a.sign(t, name, &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	at := filepath.Join(a.folder, name)
	return []string{"--tls-cert", at + ".crt", "--tls-key", at + ".key", "--tls-ca", filepath.Join(a.folder, "ca.crt")}
}
