// SPDX-License-Identifier: MIT

package remote

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// MutualTLS is how a host and its workers prove to each other who they are: each has a certificate
// of an authority that the other trusts. All three are files with PEM.
func MutualTLS(certificate, key, authority string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("use %s with %s (--tls-cert, --tls-key): %w", certificate, key, err)
	}
	text, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("read --tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--tls-ca %s has no certificate in PEM", authority)
	}
	return mutual(pair, pool), nil
}

func mutual(pair tls.Certificate, pool *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
}
