// SPDX-License-Identifier: MIT

package isolation

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// gaps lets three streams run until stop is called, which returns the longest time that one of
// them waited for its next token.
func gaps(t *testing.T, h *host.Host) (stop func() time.Duration) {
	return gapsOf(t, h, func(n int) string {
		return fmt.Sprintf(`{"prompt":%q,"max_tokens":300,"seed":%d,"ignore_eos":true,"stream":true}`, hosts.Questions[n], n)
	})
}

// gapsOf is gaps for requests of the test's. It returns when each of the streams has come so far
// that it waits for its next token.
func gapsOf(t *testing.T, h *host.Host, body func(n int) string) (stop func() time.Duration) {
	var group, started sync.WaitGroup
	var longest [3]time.Duration
	ctx, cancel := context.WithCancel(t.Context())
	for n := range longest {
		started.Add(1)
		start := sync.OnceFunc(started.Done)
		group.Go(func() {
			defer start()
			var last time.Time // until the first token of all there is nothing to wait for
			for ctx.Err() == nil {
				gap, err := longestGap(ctx, h, body(n), last, start)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				longest[n] = max(longest[n], gap)
				last = time.Now()
			}
		})
	}
	started.Wait()
	return func() time.Duration {
		cancel()
		group.Wait()
		return slices.Max(longest[:])
	}
}

// longestGap reads one answer, to its end or ctx's, and returns the longest time for which no
// token came. last is when the token before the first one came; zero: there was none. It calls
// start at the first token.
func longestGap(ctx context.Context, h *host.Host, body string, last time.Time, start func()) (longest time.Duration, _ error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL()+"/v1/completions", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	note := func() {
		if now := time.Now(); !last.IsZero() {
			longest = max(longest, now.Sub(last))
		}
	}
	defer note() // the next token has not come
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", answer.StatusCode)
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: {") {
			note()
			last = time.Now()
			start()
		}
	}
	return longest, nil
}

// burdens are the hostile cases whose guests compute for ever, or try to, in code of their own and
// in the host's functions that do most for one call: four of them, others each day. The long test
// has all cases that fault, as host/plugin/stage has each day.
func burdens(t *testing.T) (cases []tck.Case) {
	for _, c := range tck.Hostile() {
		costly := slices.ContainsFunc([]string{"loop-open", "loop-template", "loop-sample", "endless-tokenize", "endless-grammar", "stride-", "run-spins",
			"forever-wait-none", "forever-rows-of-forks", "forever-run", "forever-mix", "forever-logits", "forever-fork"}, func(name string) bool {
			return strings.HasPrefix(c.Name, name)
		})
		if c.Want.Outcome == tck.Faulted && (costly || steadytest.Long()) {
			cases = append(cases, c)
		}
	}
	if len(cases) < 9 {
		t.Fatalf("only %d hostile guests", len(cases))
	}
	steadytest.Rand(t).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	return cases[:steadytest.InLongTest(len(cases), 4)]
}

// Guests never hold up others: what three streams notice of two clients of each hostile guest,
// whose requests all end. What is promised is 1.5 times the gap without guests or 20 ms.
func TestHost_HostileGuests_HoldUpNobody(t *testing.T) {
	// As many slots as all of them have at once: a program has three, and a stream that begins its
	// next answer is to find one.
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "scheduler.slots": "12"}, nil)
	remote := &tck.Remote{URL: h.URL(), AdminKey: "secret"}
	for _, c := range burdens(t) {
		var names []string
		for _, m := range c.Modules {
			must.Do(t, remote.Upload(t.Context(), m.Wasm))
			names = append(names, m.Name)
		}
		holdsUpNobody(t, c.Name, func() func() time.Duration { return gaps(t, h) }, func() { ask(t, h, c, names) })
		if err := remote.Clean(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// ask has two clients ask for a case, again and again for half a second.
func ask(t *testing.T, h *host.Host, c tck.Case, names []string) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // the guests' work is bounded, and so is how long it takes
	defer stop()
	var group sync.WaitGroup
	until := time.Now().Add(time.Second / 2)
	for range 2 {
		group.Go(func() {
			client := &tck.Remote{URL: h.URL()}
			for going := true; going; going = time.Now().Before(until) {
				for _, name := range names { // out of quarantine
					if status, said := hosts.Admin(t, h, http.MethodPost, "/v1/plugins/"+name+"/reset", nil); status != http.StatusOK {
						t.Errorf("%d %s", status, said)
					}
				}
				if _, err := client.Complete(ctx, c.Request, names); err == nil || ctx.Err() != nil {
					t.Errorf("%s was answered, or never was: %v", c.Name, err)
				}
			}
		})
	}
	group.Wait()
}
