// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/must"
)

func parsed(t *testing.T, address string) config.Address {
	t.Helper()
	return must.Get(config.ParseAddress(address))(t)
}

// Two servers may listen on the same port where both say so.
func TestListen_ReusePort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SO_REUSEPORT")
	}
	c := settings(t, map[string]any{"server.reuse_port": "true"}).Server
	first := must.Get(Listen(t.Context(), c.Listen, c.ReusePort))(t)
	defer first.Close()
	c.Listen = parsed(t, first.Addr().String())
	second := must.Get(Listen(t.Context(), c.Listen, c.ReusePort))(t)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	c.ReusePort = false
	if third, err := Listen(t.Context(), c.Listen, c.ReusePort); err == nil {
		_ = third.Close()
		t.Error("a server that does not say so has the port too")
	}
}

// TestListen_AsAsked: a listener is open to no more than its address says, and tells what it is.
func TestListen_AsAsked(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0": "127.0.0.1:", "[::1]:0": "[::1]:", "0.0.0.0:0": "of all IPv4 addresses", "[::1%lo]:0": "[::1", "localhost:0": ":",
	} {
		l, err := Listen(t.Context(), parsed(t, address), false)
		if err != nil {
			if strings.Contains(address, "::1") {
				continue // a machine without IPv6, or with another name for its loopback interface
			}
			t.Fatal(err)
		}
		if got := listeningOn(l.Addr()); !strings.Contains(got, want) || address != "0.0.0.0:0" && strings.Contains(got, "all") {
			t.Errorf("%s listens on %s", address, got)
		}
		if address == "0.0.0.0:0" && l.Addr().(*net.TCPAddr).IP.To4() == nil {
			t.Errorf("%s is %s", address, l.Addr())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(t.TempDir(), strings.Repeat("x", longestSocket)+".sock")
	if _, err := Listen(t.Context(), parsed(t, path), false); err == nil || !strings.Contains(err.Error(), fmt.Sprint("at most ", longestSocket, " bytes")) {
		t.Errorf("a path that is too long: %v", err)
	}
}
