// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// pair is a certificate for this machine with its key, in files.
type pair struct {
	certificate, key string // paths
	modified         time.Time
}

func newPair(t *testing.T) *pair {
	dir := t.TempDir()
	return &pair{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), time.Now().Add(-time.Hour)}
}

// renew writes a new pair whose certificate has a serial number.
func (p *pair) renew(t *testing.T, serial int64) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "penstock test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	p.write(t, p.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	p.write(t, p.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// write replaces a file by one that is newer, as a tool that renews certificates does.
func (p *pair) write(t *testing.T, path string, text []byte) {
	t.Helper()
	p.modified = p.modified.Add(time.Second)
	fresh := path + ".new"
	must.Do(t, errors.Join(os.WriteFile(fresh, text, 0o600), os.Chtimes(fresh, p.modified, p.modified), os.Rename(fresh, path)))
}

// serial connects anew and returns the serial number of the certificate that the host shows.
func serial(t *testing.T, h *host.Host) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", hosts.Address(h), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // any certificate is looked at
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// clientFor trusts the certificate that is there now, and keeps its connections to itself.
func clientFor(t *testing.T, p *pair) *http.Client {
	t.Helper()
	text := must.Get(os.ReadFile(p.certificate))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A new certificate is used from then on, a broken one is not, and an answer that runs meanwhile
// goes on, over HTTP/2.
func TestHost_TLS_ReloadsItsCertificate(t *testing.T) {
	p := newPair(t)
	p.renew(t, 1)
	var log hosts.Buffer
	h := hosts.OpenLogged(t, slog.NewTextHandler(&log, nil), map[string]any{"server.ssl_cert_file": p.certificate, "server.ssl_key_file": p.key})
	hosts.Run(t, h)
	client := clientFor(t, p)
	answer := must.Get(client.Do(hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(`{`+hosts.Frog+`,"ignore_eos":true,"max_tokens":400,"stream":true}`))))(t)
	defer answer.Body.Close()
	if answer.ProtoMajor != 2 || answer.StatusCode != 200 {
		t.Errorf("%s %s", answer.Proto, answer.Status)
	}
	if got := serial(t, h); got != 1 {
		t.Errorf("certificate %d", got)
	}
	p.renew(t, 2)
	hosts.Await(t, func() bool { return serial(t, h) == 2 })
	p.write(t, p.certificate, []byte("not a certificate"))
	hosts.Await(t, func() bool { serial(t, h); return strings.Contains(log.String(), "cannot be used") })
	if got := serial(t, h); got != 2 {
		t.Errorf("with a broken certificate: %d", got)
	}
	p.renew(t, 3)
	hosts.Await(t, func() bool { return serial(t, h) == 3 })
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the answer was cut: %v", err)
	}
	conn, _ := must.Both(websocket.Dial(t.Context(), strings.Replace(h.URL(), "https", "wss", 1)+"/v1/ws", &websocket.DialOptions{HTTPClient: clientFor(t, p)}))(t)
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

func TestOpen_BrokenCertificate_Fails(t *testing.T) {
	p := newPair(t)
	p.renew(t, 1)
	p.write(t, p.key, []byte("not a key"))
	c := hosts.Settings(t, map[string]any{"server.ssl_cert_file": p.certificate, "server.ssl_key_file": p.key})
	_, err := host.Open(t.Context(), host.Options{Config: c, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "server.ssl_key_file") {
		t.Errorf("got %v", err)
	}
}

// TestHost_UnixSocket: a path that nobody answers at is taken over, one that is in use is not.
func TestHost_UnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.sock")
	left := must.Get(net.Listen("unix", path))(t)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	must.Do(t, left.Close())
	h := hosts.Open(t, map[string]any{"server.listen": path})
	hosts.Run(t, h)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	status, _, text := hosts.Send(t, &http.Client{Transport: transport}, hosts.NewRequest(t, http.MethodGet, "http://any.example/v1/models", nil))
	if status != 200 || h.URL() != "unix:"+path {
		t.Errorf("%s: %d %s", h.URL(), status, text)
	}
	if _, err := host.Open(t.Context(), host.Options{Config: hosts.Settings(t, map[string]any{"server.listen": path}), Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a second server took the path")
	}
}
