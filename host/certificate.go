// SPDX-License-Identifier: MIT

package host

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/reload"
)

// tlsConfig is how connections are encrypted; nil: not at all. A certificate that has changed is used for connections that begin from
// then on.
func tlsConfig(s config.Server, log *slog.Logger) (*tls.Config, error) {
	if s.SSLCertFile == "" {
		return nil, nil
	}
	pair, err := reload.New(log, func() (*tls.Certificate, error) {
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
