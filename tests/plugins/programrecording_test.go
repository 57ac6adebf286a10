// SPDX-License-Identifier: MIT

package plugins

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// openToRecord opens a host that has the plugin beam, which is a program.
func openToRecord(t *testing.T, change map[string]any) *host.Host {
	t.Helper()
	return hosts.OpenWithPlugins(t, change, map[string][]byte{"beam.wasm": hosts.Example(t, "beam")})
}

// ofBeam is the beginning of a text completion's body that the plugin beam writes, in so many
// branches.
func ofBeam(width, tokens int) string {
	return fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":%d,"plugins":[{"name":"beam","config":{"width":%d}}]`, tokens, width)
}

// A recording of a program has all that it has read and done, and is played without a model as
// often as one likes, deed by deed. One that does something else is found out.
func TestPrograms_Recording_IsReplayed(t *testing.T) {
	h := openToRecord(t, nil)
	for name, body := range map[string]string{
		"to its end":       ofBeam(3, 16) + `,"record":true,"seed":7}`,
		"to a stop string": ofBeam(3, 16) + `,"record":true,"stop":[" was"]}`,
		"one branch":       ofBeam(1, 8) + `,"record":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := recorded(t, h, "/v1/completions", body)
			steps := callsOf(f, "beam", func(c *session.Call) bool { return c.Call == session.CallStep })
			runs := callsOf(f, "beam", func(c *session.Call) bool { return c.Call == session.CallRun })
			if steps < 8 || runs != 1 {
				t.Fatalf("%d steps and %d runs", steps, runs)
			}
			if d := replay(t, f, hosts.Example(t, "beam"), replays()); d != nil {
				t.Error(d)
			}
			var again bytes.Buffer
			must.Do(t, f.Write(&again))
			g := must.Get(session.Read(&again))(t)
			if d := replay(t, g, hosts.Example(t, "beam"), 1); d != nil {
				t.Errorf("written once more: %v", d)
			}
			if n := len(f.Recording.Choices[0].Tokens); n == 0 || f.Recording.Choices[0].Tokens[n-1].By != "plugin:beam" {
				t.Errorf("its tokens are %+v", f.Recording.Choices[0].Tokens)
			}
			s := &g.Sessions[0]
			change(t, s, abi.ImportBranchesWait, func(d *session.Deed) { d.Args[1]++ })
			if d := replay(t, g, hosts.Example(t, "beam"), 1); d == nil || !strings.Contains(d.String(), "deed") || !strings.Contains(d.String(), abi.ImportBranchesWait) {
				t.Errorf("another deed is recorded, and %v differs", d)
			}
		})
	}
}

// change changes the first deed of a kind in a session.
func change(t *testing.T, s *session.Session, do string, f func(*session.Deed)) {
	t.Helper()
	for i := range s.Calls {
		for j := range s.Calls[i].Deeds {
			if d := &s.Calls[i].Deeds[j]; d.Do == do {
				f(d)
				return
			}
		}
	}
	t.Fatalf("nothing is a %s", do)
}
