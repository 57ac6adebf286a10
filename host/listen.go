// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/penstock/penstock/host/config"
)

// listen begins to listen on server.listen, which may be the path of a Unix socket. Of a server
// that crashed such a path may be left; nobody answers there, so it is replaced.
func listen(ctx context.Context, s config.Server) (net.Listener, error) {
	var l net.ListenConfig
	if s.ReusePort && s.Network() == "tcp" {
		l.Control = reusePort
	}
	listener, err := l.Listen(ctx, s.Network(), s.Listen)
	if errors.Is(err, syscall.EADDRINUSE) && s.Network() == "unix" && isAbandoned(ctx, s.Listen) && os.Remove(s.Listen) == nil {
		listener, err = l.Listen(ctx, s.Network(), s.Listen)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s (server.listen): %w", s.Listen, err)
	}
	return listener, nil
}

func isAbandoned(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return false
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// URL is where the host is reached, with the port it got and the prefix of all paths. For a Unix
// socket it is the socket's path.
func (h *Host) URL() string {
	address, ok := h.listener.Addr().(*net.TCPAddr)
	if !ok {
		return "unix:" + h.listener.Addr().String()
	}
	scheme := "http://"
	if h.tls != nil {
		scheme = "https://"
	}
	prefix := h.config.Server.APIPrefix
	if address.IP.IsUnspecified() {
		return fmt.Sprintf("%s127.0.0.1:%d%s", scheme, address.Port, prefix)
	}
	return scheme + address.String() + prefix
}

// encrypted is the listener with TLS, if that is configured.
func (h *Host) encrypted() net.Listener {
	if h.tls == nil {
		return h.listener
	}
	return tls.NewListener(h.listener, h.tls)
}

// tlsConfig is how connections are encrypted; nil: not at all. A certificate that has changed is
// used for connections that begin from then on.
func tlsConfig(s config.Server, log *slog.Logger) (*tls.Config, error) {
	if s.SSLCertFile == "" {
		return nil, nil
	}
	pair, err := newReloaded(log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.SSLCertFile, s.SSLKeyFile)
		return &pair, err
	}, s.SSLCertFile, s.SSLKeyFile)
	if err != nil {
		return nil, fmt.Errorf("use %s with %s (server.ssl_cert_file, server.ssl_key_file): %w", s.SSLCertFile, s.SSLKeyFile, err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}, nil
}
