// SPDX-License-Identifier: MIT

package isolation

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// among lets seven neighbours stream until the function it returns is called: that checks that
// they noticed nothing.
func among(t *testing.T, h *host.Host) (undisturbed func()) {
	t.Helper()
	stop := must.Get(tck.Neighbours(func(n int) (string, error) {
		return hosts.Streamed(t, h, hosts.AskNumber(n, `,"ignore_eos":true`))
	}))(t)
	return func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// burns are cases whose guests compute until their time or fuel is over, which takes seconds; the
// short test has one of that kind, loop-open. What others notice of them is in
// TestHost_HostileGuests_HoldUpNobody.
var burns = []string{"loop-start-function", "loop-describe", "loop-initialize", "loop-warm", "loop-template"}

// late reports whether a guest of a case that faults had used up its time, or got none, before it
// came to its fault, as on a busy machine or with the race detector. The cases' own causes are
// wanted in host/plugin/stage, where guests have a minute.
func late(c tck.Case, err error) bool {
	return c.Want.Outcome == tck.Faulted && (strings.Contains(err.Error(), plugin.CauseTime.Error()) || strings.Contains(err.Error(), plugin.CauseBusy.Error()))
}

// outputCounter counts the values that come with answers.
type outputCounter struct {
	tck.Remote
	outputs int
}

func (c *outputCounter) Complete(ctx context.Context, q tck.Request, plugins []string) (tck.Answer, error) {
	a, err := c.Remote.Complete(ctx, q, plugins)
	c.outputs += strings.Count(a.Outputs, "\n")
	return a, err
}

// The conformance kit over HTTP, hostile guests and all, while seven neighbours stream: a
// twentieth of its cases, others each day, and those with values that come with answers. The long
// test has all. host/plugin/stage has all each day, beside seven streams too.
func TestHost_Conforms_BesideNeighbours(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "plugins.scripts": "off"}, nil)
	remote := &outputCounter{Remote: tck.Remote{URL: h.URL(), AdminKey: "secret"}}
	undisturbed := among(t, h)
	random := steadytest.Rand(t)
	for _, c := range tck.Cases() {
		if random.IntN(20) > 0 && !strings.Contains(c.Name, "output") && !steadytest.Long() {
			continue
		}
		costly := slices.Contains(burns, c.Name) || strings.HasPrefix(c.Name, "endless-") || strings.HasPrefix(c.Name, "stride-")
		if costly && !steadytest.Long() {
			continue
		}
		switch err := tck.Run(context.Background(), remote, c); {
		case err == nil:
		case late(c, err):
			t.Logf("%s: %v", c.Name, err)
		default:
			t.Errorf("%s: %s: %v", c.Name, c.Rule, err)
		}
	}
	if want := 2 * abi.LimitOutputs; remote.outputs != want { // a kit that sees none would take the host for an older one
		t.Errorf("%d values of plugins came with the answers, want %d", remote.outputs, want)
	}
	undisturbed()
	if err := remote.Clean(context.Background()); err != nil {
		t.Error(err)
	}
	if list := hosts.Get(t, h.URL()+"/v1/plugins"); !strings.Contains(list, `"data":[]`) {
		t.Errorf("left are %s", list)
	}
}
