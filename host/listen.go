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
	"strings"
	"syscall"

	"github.com/penstock/penstock/host/config"
)

// Listen begins to listen on an address, with SO_REUSEPORT if reuse says so. Of a server that
// crashed the path of a Unix socket may be left; nobody answers there, so it is replaced.
func Listen(ctx context.Context, a config.Address, reuse bool) (net.Listener, error) {
	if len(a.Socket) > longestSocket {
		return nil, fmt.Errorf("listen on %s: the path of a Unix socket has at most %d bytes, and this one %d; name a shorter path", a, longestSocket, len(a.Socket))
	}
	var l net.ListenConfig
	if reuse && a.Socket == "" {
		l.Control = reusePort
	}
	listener, err := l.Listen(ctx, a.Network(), a.String())
	if errors.Is(err, syscall.EADDRINUSE) && a.Socket != "" && isAbandoned(ctx, a.Socket) && os.Remove(a.Socket) == nil {
		listener, err = l.Listen(ctx, a.Network(), a.String())
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	if err := a.CheckOpened(listener.Addr()); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", a, err), listener.Close())
	}
	return listener, nil
}

// longestSocket is how many bytes the path of a Unix socket may have. One more ends it.
const longestSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// listeningOn says what the address has become.
func listeningOn(got net.Addr) string {
	address, ok := got.(*net.TCPAddr)
	switch {
	case !ok:
		return "the Unix socket " + got.String()
	case !address.IP.IsUnspecified():
		return address.String()
	case address.IP.To4() != nil:
		return fmt.Sprintf("port %d of all IPv4 addresses of this machine", address.Port)
	}
	return fmt.Sprintf("port %d of all addresses of this machine", address.Port)
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
	return scheme + strings.ReplaceAll(address.String(), "%", "%25") + prefix // a zone begins with the sign of escapes
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
