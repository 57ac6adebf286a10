// SPDX-License-Identifier: MIT

package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// stalling is a connection of which its client reads so many bytes and no more, until it is closed.
type stalling struct {
	net.Conn
	left   int
	closed chan struct{}
}

// Read implements net.Conn.
func (s *stalling) Read(p []byte) (int, error) {
	if s.left <= 0 {
		<-s.closed
		return 0, net.ErrClosed
	}
	n, err := s.Conn.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// Over HTTP/2, too, an answer that is not read ends: one stream of a connection, and all of a
// connection that is not read.
func TestHost_WriteTimeout_HTTP2(t *testing.T) {
	p := newPair(t)
	p.renew(t, 1)
	h := hosts.Open(t, map[string]any{"server.ssl_cert_file": p.certificate, "server.ssl_key_file": p.key, "server.write_timeout": "1s"})
	hosts.Run(t, h)
	closed := make(chan struct{})
	stalled := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			return nil, err
		}
		c := tls.Client(&stalling{conn, 128 << 10, closed}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // it is this test's own
		return c, c.HandshakeContext(ctx)
	}}
	defer stalled.CloseIdleConnections()
	defer close(closed)
	body := []byte(`{"content":"` + strings.Repeat("frog ", 200<<10) + `","with_pieces":true}`) // more than a stream's window and the sockets hold
	sent, trusting := 0, clientFor(t, p)
	for name, client := range map[string]*http.Client{"a stream": clientFor(t, p), "a connection": {Transport: stalled}} {
		answer, err := client.Do(hosts.NewRequest(t, http.MethodPost, h.URL()+"/tokenize", body, "Content-Type", "application/json"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer answer.Body.Close() //nolint:errcheck,revive // it is not read
		if answer.ProtoMajor != 2 || answer.StatusCode != 200 {
			t.Errorf("%s: %s %s", name, answer.Proto, answer.Status)
		}
		sent++
		hosts.Await(t, func() bool {
			_, _, metrics := hosts.Send(t, trusting, hosts.NewRequest(t, http.MethodGet, h.URL()+"/metrics", nil))
			return strings.Contains(metrics, fmt.Sprintf("penstock_http_request_seconds_count{route=%q} %d\n", "/tokenize", sent))
		})
	}
}
