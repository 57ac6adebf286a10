// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"net"
	"strconv"
)

// Workers says which devices of other machines compute the model, and how they are reached.
type Workers struct {
	RPC      []string `koanf:"rpc"` // HOST:PORT of each
	TLSCert  string   `koanf:"tls_cert"`
	TLSKey   string   `koanf:"tls_key"`
	TLSCA    string   `koanf:"tls_ca"`
	Insecure bool     `koanf:"insecure"`
}

var workerKeys = []Key{
	{Name: "workers.rpc", Flag: "rpc", Kind: List, Default: []string{}, check: areWorkers,
		Allowed: "HOST:PORT with a port from 1 to 65535, each once", Help: "workers (penstock worker) whose devices compute the model together with this machine's"},
	{Name: "workers.tls_cert", Flag: "tls-cert", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_key and workers.tls_ca", Help: "certificate that this host shows to workers"},
	{Name: "workers.tls_key", Flag: "tls-key", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_cert and workers.tls_ca", Help: "private key of the certificate for workers"},
	{Name: "workers.tls_ca", Flag: "tls-ca", Kind: Text, Default: "", Protects: true,
		Allowed: "a PEM file, with workers.tls_cert and workers.tls_key", Help: "certificates of the authority that has signed those of the workers"},
	{Name: "workers.insecure", Flag: "insecure", Kind: Switch, Default: false,
		Allowed: "true or false", Help: "reach workers of other machines without TLS: whoever can read or change what crosses the network can read all texts and change all answers"},
}

func areWorkers(v any) bool {
	known := map[string]bool{}
	for _, address := range v.([]string) {
		host, port, err := net.SplitHostPort(address)
		n, badPort := strconv.Atoi(port)
		if err != nil || badPort != nil || host == "" || n < 1 || n > 65535 || known[address] {
			return false
		}
		known[address] = true
	}
	return true
}

// Encrypted reports whether workers are reached with TLS.
func (w Workers) Encrypted() bool { return w.TLSCert != "" }

// Check says what is missing to reach a worker, or to be reached as one.
func (w Workers) Check(address string) error {
	if w.Encrypted() || w.Insecure || isLoopback(address) {
		return nil
	}
	return fmt.Errorf("%s is not on the loopback interface, and RPC has neither keys nor encryption: name --tls-cert, --tls-key and --tls-ca, or say --insecure where nobody else is on that network", address)
}

// tlsWhole is false where a part of what TLS needs is missing.
func (w Workers) tlsWhole() bool {
	return (w.TLSCert == "") == (w.TLSKey == "") && (w.TLSCert == "") == (w.TLSCA == "")
}
