// SPDX-License-Identifier: MIT

package host

import (
	"runtime"
	"testing"
)

// Two servers may listen on the same port where both say so.
func TestListen_ReusePort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SO_REUSEPORT")
	}
	c := settings(t, map[string]any{"server.reuse_port": "true"}).Server
	first, err := listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	c.Listen = first.Addr().String()
	second, err := listen(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	c.ReusePort = false
	if third, err := listen(t.Context(), c); err == nil {
		_ = third.Close()
		t.Error("a server that does not say so has the port too")
	}
}
