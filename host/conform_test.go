// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/plugins/tck"
)

// among lets seven neighbours stream, each the same answer over and over, until the function it returns is called: that
// checks that all their answers were what they are on a host by themselves.
func among(t *testing.T, h *Host) (undisturbed func()) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	var answers [7]int
	for n := range answers {
		request := askNumber(n, `,"ignore_eos":true`)
		want, err := streamed(t, h, request)
		if err != nil || want == "" {
			t.Fatalf("%q, %v", want, err)
		}
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if text, err := streamed(t, h, request); err != nil || text != want {
					t.Errorf("neighbour %d has %q, %v; undisturbed it has %q", n, text, err, want)
					return
				}
				answers[n]++
			}
		})
	}
	return func() {
		t.Helper()
		close(stop)
		group.Wait()
		for n, times := range answers {
			if times == 0 {
				t.Errorf("neighbour %d got no answer meanwhile", n)
			}
		}
	}
}

// The whole conformance kit over HTTP, hostile guests and all, while seven neighbours stream.
func TestHost_Conforms_BesideNeighbours(t *testing.T) {
	h := openWithPlugins(t, map[string]any{"server.admin_key": "secret"}, nil)
	remote := &tck.Remote{URL: h.URL(), AdminKey: "secret"}
	undisturbed := among(t, h)
	for _, c := range tck.Cases() {
		if err := tck.Run(context.Background(), remote, c); err != nil {
			t.Errorf("%s: %s: %v", c.Name, c.Rule, err)
		}
	}
	undisturbed()
	if err := remote.Clean(context.Background()); err != nil {
		t.Error(err)
	}
	if list := get(t, h.URL()+"/v1/plugins"); !strings.Contains(list, `"data":[]`) {
		t.Errorf("left are %s", list)
	}
}
