// SPDX-License-Identifier: MIT

package isolation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// hostileScripts are scripts that mean harm in a hook, in the code outside of hooks, in what makes
// the prompt, in what is shown or in a program. A sample of them, others each day; the long test
// has all.
func hostileScripts(t *testing.T) (sources []string) {
	t.Helper()
	text := must.Get(os.ReadFile("../../plugins/script/testdata/hostile.txt"))(t)
	for line := range strings.Lines(string(text)) {
		body := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(body, "// ") {
			continue
		}
		place := []string{"export function sample(c) {\n%s\n}", "const c = {}; export function prepare() {}\nfunction all() {\n%s\n}\nall();",
			"export function messages(c) {\n%s\n}", "export function run(c) {\n%s\n}", "export function stop(c) {\n%s\n}", "export function filter(c) {\n%s\n}"}[len(sources)%6]
		if strings.HasPrefix(body, "export ") {
			sources = append(sources, body)
			continue
		}
		sources = append(sources, fmt.Sprintf(place, body))
	}
	if len(sources) < 60 {
		t.Fatalf("only %d", len(sources))
	}
	return steadytest.Some(t, sources, 12)
}

// send has two clients send scripts, each until all are answered. None may break the host, and what
// it says of one names its line.
func send(t *testing.T, h *host.Host, scripts []string) {
	var group sync.WaitGroup
	for half := range 2 {
		group.Go(func() {
			for i := half; i < len(scripts); i += 2 {
				source, err := json.Marshal(scripts[i])
				if err != nil {
					t.Error(err)
				}
				status, said := hosts.Post(t, h.URL()+"/v1/chat/completions", fmt.Sprintf(`{%s,"max_tokens":4,"plugins":[{"script":%s}]}`, hosts.Frog, source))
				failed := status == http.StatusBadRequest || status == http.StatusFailedDependency
				if status != http.StatusOK && !(failed && strings.Contains(said, "script.js:")) {
					t.Errorf("%s: %d %s", scripts[i], status, said)
				}
			}
		})
	}
	group.Wait()
}

// Scripts that mean harm hold nobody up, as other guests do not. A stream beside them has the text
// that it has alone, and each of them ends with its request.
func TestHost_HostileScripts_HoldUpNobody(t *testing.T) {
	const each = 50 // a client may send 60 new ones a minute
	for scripts := range slices.Chunk(hostileScripts(t), each) {
		h := hosts.OpenWithPlugins(t, map[string]any{"scheduler.slots": "4"}, nil)
		neighbour(t, h) // what is set up once is set up
		alone, _ := neighbour(t, h)
		began := time.Now()
		holdsUpNobody(t, "hostile scripts", func() func() time.Duration { return neighbours(t, h, alone) }, func() { send(t, h, scripts) })
		t.Logf("%d scripts: %v", len(scripts), time.Since(began).Round(time.Millisecond))
		hosts.Await(t, func() bool { running, waiting := hosts.Requests(t, h); return running == 0 && waiting == 0 })
		if text, _ := neighbour(t, h); text != alone {
			t.Errorf("afterwards %q, before %q", text, alone)
		}
	}
}
