// SPDX-License-Identifier: MIT

package config

import (
	"strings"
	"testing"
)

func TestWorkers_RPC(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		wrong     bool
	}{
		{[]string{"10.0.0.2:50052", "gpu.example.com:1"}, false},
		{[]string{"[::1]:50052"}, false},
		{[]string{"10.0.0.2"}, true},
		{[]string{":50052"}, true},
		{[]string{"10.0.0.2:0"}, true},
		{[]string{"10.0.0.2:65536"}, true},
		{[]string{"10.0.0.2:rpc"}, true},
		{[]string{"10.0.0.2:50052", "10.0.0.2:50052"}, true},
	} {
		_, err := Load(Sources{Flags: map[string]any{"workers.rpc": c.addresses}})
		if (err != nil) != c.wrong || c.wrong && !strings.Contains(err.Error(), "workers.rpc") {
			t.Errorf("%v: %v", c.addresses, err)
		}
	}
}

func TestWorkers_Check(t *testing.T) {
	for _, c := range []struct {
		of      Workers
		address string
		refused bool
	}{
		{Workers{}, "127.0.0.1:50052", false},
		{Workers{}, "localhost:50052", false},
		{Workers{}, "10.0.0.2:50052", true},
		{Workers{}, ":50052", true},
		{Workers{Insecure: true}, "10.0.0.2:50052", false},
		{Workers{TLSCert: "a", TLSKey: "b", TLSCA: "c"}, "10.0.0.2:50052", false},
	} {
		if err := c.of.Check(c.address); (err != nil) != c.refused {
			t.Errorf("%+v %s: %v", c.of, c.address, err)
		}
	}
}

func TestWorkers_TLSNeedsAll(t *testing.T) {
	for _, flags := range []map[string]any{
		{"workers.tls_cert": "a"}, {"workers.tls_cert": "a", "workers.tls_key": "b"}, {"workers.tls_ca": "c"},
	} {
		if _, err := Load(Sources{Flags: flags}); err == nil || !strings.Contains(err.Error(), "workers.tls_") {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
