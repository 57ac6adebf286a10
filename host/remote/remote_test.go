// SPDX-License-Identifier: MIT

package remote

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// authority signs certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	text := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	certificate := must.Get(x509.ParseCertificate(text))(t)
	return authority{certificate, key}
}

// config is mutual TLS with a certificate of this authority, which trusts another's.
func (a authority) config(t *testing.T, trusts authority) *tls.Config {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	text := must.Get(x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key))(t)
	pool := x509.NewCertPool()
	pool.AddCert(trusts.certificate)
	return mutualTLS(tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, pool)
}

// startWorker serves with a new fake for each connection, and returns its address.
func startWorker(t *testing.T, s *Server, fake func() *fakeGGML) (address string) {
	if fake == nil {
		fake = func() *fakeGGML { return &fakeGGML{} }
	}
	s.Start = func() (Child, error) { return startFake(fake()), nil }
	s.Log = slog.New(slog.DiscardHandler)
	if s.Llama == "" {
		s.Llama = "v1"
	}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func open(t *testing.T, h Dialer, address string) *Connection {
	s := must.Get(h.Open(t.Context(), address))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestConnection(t *testing.T) {
	a := newAuthority(t)
	for _, c := range []struct {
		name      string
		tls, from *tls.Config
	}{{"plain", nil, nil}, {"mutual TLS", a.config(t, a), a.config(t, a)}} {
		t.Run(c.name, func(t *testing.T) {
			address := startWorker(t, &Server{TLS: c.tls}, nil)
			s := open(t, Dialer{Llama: "v1", ID: "1", TLS: c.from}, address)
			if len(s.Devices()) != 1 || s.Devices()[0] != testDevices[0] {
				t.Errorf("devices %v, want %v", s.Devices(), testDevices)
			}
			for _, r := range conversation() {
				must.Get((ggmlClient{s.theirs}).ask(r.cmd, r.payload))(t)
			}
			if err := s.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHost_Open_Refused(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	nobody := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed := nobody.Addr().String()
	_ = nobody.Close()
	for _, c := range []struct {
		name   string
		worker *Server // nil: none
		host   Dialer
		want   string
	}{
		{"nobody", nil, Dialer{Llama: "v1"}, "cannot be reached: connect: connection refused"},
		{"another llama.cpp", &Server{Llama: "v2"}, Dialer{Llama: "v1"}, "the host has llama.cpp v1 and this worker v2; run the same release"},
		{"the host's authority", &Server{TLS: a.config(t, a)}, Dialer{Llama: "v1", TLS: b.config(t, a)}, "does not accept this host's certificate"},
		{"the worker's authority", &Server{TLS: b.config(t, a)}, Dialer{Llama: "v1", TLS: a.config(t, a)}, "its certificate is of another authority than --tls-ca names"},
		{"TLS at one end", &Server{TLS: a.config(t, a)}, Dialer{Llama: "v1"}, "it speaks TLS; name a certificate"},
		{"TLS at the other", &Server{}, Dialer{Llama: "v1", TLS: a.config(t, a)}, "it does not speak TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := closed
			if c.worker != nil {
				address = startWorker(t, c.worker, nil)
			}
			_, err := c.host.Open(t.Context(), address)
			var e *WorkerError
			if !errors.As(err, &e) || e.Worker != address || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want one of the worker %s with %q", err, address, c.want)
			}
		})
	}
}

// A worker whose devices are slow to start gives signs of life meanwhile; one that hangs does not,
// and is not waited for as long.
func TestHost_Open_SlowOrHung(t *testing.T) {
	for _, c := range []struct {
		name  string
		hangs bool
		want  string
		after time.Duration
	}{{"hung", true, "it gave no sign of life for 10s", silence}, {"slow", false, "it has no device to compute on", 40 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				worker := newLink(far)
				go func() { _, _ = io.Copy(io.Discard, far) }()
				if !c.hangs {
					worker.startPinging()
					time.AfterFunc(c.after, func() { _ = worker.sendHello(workerHello{Llama: "v1"}) })
				}
				begin := time.Now()
				_, err := Dialer{Llama: "v1"}.begin(t.Context(), "a:1", near)
				if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(begin) != c.after {
					t.Errorf("%v after %v, want %q after %v", err, time.Since(begin), c.want, c.after)
				}
				worker.close()
			})
		})
	}
}

func TestServer_OneHost(t *testing.T) {
	address := startWorker(t, &Server{}, nil)
	first := open(t, Dialer{Llama: "v1", ID: "1", Name: "one"}, address)
	second := open(t, Dialer{Llama: "v1", ID: "1", Name: "one"}, address) // another model of the same host
	other := Dialer{Llama: "v1", ID: "2", Name: "two"}
	if _, err := other.Open(t.Context(), address); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it serves the host one since") {
		t.Errorf("a second host: %v", err)
	}
	_, _ = first.Close(), second.Close()
	_ = open(t, other, address).Close() // though the worker hears of it a little later
}

// A child that ends takes its connection with it and nothing else, and its last words reach the
// host.
func TestConnection_ChildEnds(t *testing.T) {
	address := startWorker(t, &Server{}, func() *fakeGGML {
		return &fakeGGML{words: errors.New("the device is on fire"), before: func(c command) {
			if c == graphCompute {
				panic("abort")
			}
		}}
	})
	for range 3 {
		s := open(t, Dialer{Llama: "v1", ID: "1"}, address)
		for _, r := range conversation() {
			must.Get((ggmlClient{s.theirs}).ask(r.cmd, r.payload))(t)
		}
		<-s.Lost()
		if want := "the worker " + address + " was lost: ggml's server ended: the device is on fire"; s.Err().Error() != want {
			t.Errorf("%v, want %q", s.Err(), want)
		}
		if !errors.Is(s.Err(), ErrLost) {
			t.Error("it is no ErrLost")
		}
		_ = s.Close()
	}
}

func TestConnection_WorkerEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	worker := &Server{Llama: "v1", Log: slog.New(slog.DiscardHandler), Start: func() (Child, error) { return startFake(&fakeGGML{}), nil }}
	ended := make(chan error, 1)
	go func() { ended <- worker.Serve(ctx, listener) }()
	s := open(t, Dialer{Llama: "v1", ID: "1"}, listener.Addr().String())
	cancel()
	<-s.Lost()
	if !strings.HasSuffix(s.Err().Error(), "was lost: it is shutting down") {
		t.Error(s.Err())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
