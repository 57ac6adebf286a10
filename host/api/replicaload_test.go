// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// told is what a router reads of GET /v1/load.
type told struct {
	Replica struct{ Name, ID, Version string }
	State   string
	Plugins []pluginLoad
	Models  []struct {
		Name     string
		Default  bool
		State    string
		AgeMS    float64 `json:"age_ms"`
		Slots    slotLoad
		Queue    queueLoad
		KVCache  cacheLoad `json:"kv_cache"`
		Prefixes prefixLoad
	}
}

func (r *rig) load(query string, headers ...string) (l told) {
	r.t.Helper()
	status, _, body := r.call(http.MethodGet, "/v1/load"+query, "", headers...)
	if err := json.Unmarshal([]byte(body), &l); status != 200 || err != nil || len(l.Models) != 1 {
		r.t.Fatalf("%d %v: %s", status, err, body)
	}
	return l
}

// digests are those of all sets, by a look that came after what was asked before.
func (r *rig) digests(headers ...string) (all []string) {
	r.t.Helper()
	l, begin := told{}, time.Now()
	for fresh := false; !fresh; {
		passed := time.Since(begin)
		l = r.load("", headers...)
		fresh = l.Models[0].AgeMS <= float64(passed)/float64(time.Millisecond)
	}
	for _, set := range l.Models[0].Prefixes.Sets {
		all = append(all, set.Digests...)
	}
	return all
}

// question is a chat whose prompt has some blocks of tokens, which are bytes.
func question(about string) string {
	return fmt.Sprintf(`{"messages":[{"role":"system","content":%q},{"role":"user","content":"Hello?"}],"max_tokens":2}`, strings.Repeat(about+" ", 200/len(about)))
}

// A router that knows nothing of the model's tokens asks any replica for a prompt's digests, and
// finds the replica that has most of them.
func TestAPI_Load_RouterFindsThePrefix(t *testing.T) {
	replicas := []*rig{newRig(t, nil), newRig(t, nil), newRig(t, nil)}
	for i, about := range []string{"frogs", "kings", "ships"} {
		replicas[i].post("/v1/chat/completions", question(about), &struct{}{})
	}
	for want, about := range []string{"frogs", "kings", "ships"} {
		var asked struct {
			Tokens  int `json:"input_tokens"`
			Block   int `json:"block_tokens"`
			Digests []string
		}
		replicas[0].post("/v1/chat/completions/input_tokens?digests=true", question(about), &asked)
		if asked.Block != kvcache.BlockTokens || len(asked.Digests) != asked.Tokens/asked.Block || len(asked.Digests) < 3 {
			t.Fatalf("%+v", asked)
		}
		for i, r := range replicas {
			cached, n := r.digests(), 0
			for n < len(asked.Digests) && slices.Contains(cached, asked.Digests[n]) {
				n++
			}
			if (n == len(asked.Digests)) != (i == want) {
				t.Errorf("replica %d has %d of the %d blocks of the prompt about %s", i, n, len(asked.Digests), about)
			}
		}
		var answer struct{ Usage wire.Usage }
		replicas[want].post("/v1/chat/completions", question(about), &answer)
		if answer.Usage.Details.Cached < len(asked.Digests)*asked.Block {
			t.Errorf("%d tokens found, %d blocks told of", answer.Usage.Details.Cached, len(asked.Digests))
		}
	}
}

// A key is told of the prompts that its own requests may use, no others: else it could try out
// what others have sent.
func TestAPI_Load_OwnPrefixesOnly(t *testing.T) {
	for _, share := range []bool{false, true} {
		r := newRig(t, func(s *setup) { s.Keys, s.ShareCache = keys("", nil, "one", "two"), share })
		if status, _, _ := r.call(http.MethodGet, "/v1/load", ""); status != 401 {
			t.Errorf("without a key: %d", status)
		}
		if status, _, body := r.call(http.MethodPost, "/v1/chat/completions", question("secrets"), "Authorization", "Bearer one"); status != 200 {
			t.Fatal(body)
		}
		if n := len(r.digests("Authorization", "Bearer one")); n < 3 {
			t.Errorf("shared %v: the key itself is told of %d blocks", share, n)
		}
		if n := len(r.digests("Authorization", "Bearer two")); (n > 0) != share {
			t.Errorf("shared %v: another key is told of %d blocks", share, n)
		}
	}
}

// While a pass computes for long, a router is told what was so before it, and how many requests
// have come since.
func TestAPI_Load_DoesNotWaitForAPass(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	if l := r.load(""); l.Models[0].Slots != (slotLoad{All: 1}) || l.Models[0].Queue.Length != 0 {
		t.Errorf("idle: %+v", l)
	}
	st := must.Get(r.scheduler.Submit(r.request()))(t)
	await(t, g.held)
	if l := r.load(""); l.Models[0].Slots.Busy+l.Models[0].Queue.Length != 1 {
		t.Errorf("in a pass: %+v", l)
	}
	g.open()
	r.outcome()
	st.Cancel()
}

// listing is a catalog with one plugin.
type listing struct{ Catalog }

func (listing) List() []PluginInfo {
	return []PluginInfo{{Name: "json", SHA256: "abc", State: "ready", File: "json.wasm"}}
}

func TestAPI_Load_SaysWhichReplica(t *testing.T) {
	ready := true
	r := newRig(t, func(s *setup) {
		s.Replica, s.Ready = "pod-7", func() bool { return ready }
		s.Catalog = listing{}
	})
	l := r.load("")
	if l.Replica.Name != "pod-7" || l.Replica.Version != "test" || len(l.Replica.ID) < 20 || l.State != "ready" || !slices.Equal(l.Plugins, []pluginLoad{{"json", "abc", "ready"}}) ||
		l.Models[0].Name != "toy" || !l.Models[0].Default || l.Models[0].State != "loaded" || l.Models[0].KVCache.Cells != 8192 {
		t.Errorf("%+v", l)
	}
	ready = false
	if again := r.load(""); again.State != "draining" || again.Replica != l.Replica {
		t.Errorf("%+v", again)
	}
}

func TestAPI_Load_Digests(t *testing.T) {
	r := newRig(t, nil)
	r.post("/v1/chat/completions", question("frogs"), &struct{}{})
	whole := r.digests()
	if p := r.load("?digests=2").Models[0].Prefixes; p.Complete || len(p.Sets) != 1 || !slices.Equal(p.Sets[0].Digests, whole[:2]) {
		t.Errorf("2 of %v: %+v", whole, p)
	}
	if p := r.load("?digests=0").Models[0].Prefixes; p.Complete || len(p.Sets) != 0 {
		t.Errorf("none: %+v", p)
	}
	for _, wrong := range []string{"-1", "many", "8193", "1e3"} {
		if status, _, body := r.call(http.MethodGet, "/v1/load?digests="+wrong, ""); status != 400 || !strings.Contains(body, `"param":"digests"`) {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
}

// loadedAdapters are those of a model: the keys of sets are their names.
type loadedAdapters struct{ serving.Adapters }

func (loadedAdapters) List() []serving.AdapterInfo {
	return []serving.AdapterInfo{{ID: 3, Name: "tales", Scale: 0.5}, {ID: 5, Name: "rhymes"}}
}

func (loadedAdapters) Named(key string) ([]serving.AdapterScale, bool) {
	return []serving.AdapterScale{{ID: 3, Name: key, Scale: 2}}, key == "tales"
}

func TestPrefixesOf_Adapters(t *testing.T) {
	d := func(names string) (list []kvcache.Digest) {
		for _, name := range names {
			list = append(list, kvcache.Digest{byte(name)})
		}
		return list
	}
	of := func(names string) (list []string) {
		for _, digest := range d(names) {
			list = append(list, digest.String())
		}
		return list
	}
	all := []kvcache.Prefix{
		{Digests: d("abc"), Blocks: 3},
		{Digests: d("ax"), Blocks: 2},
		{Scope: kvcache.Scope{Adapters: "tales", From: 130}, Digests: d("pqrs"), Blocks: 4},
		{Scope: kvcache.Scope{Adapters: "gone"}, Digests: d("z"), Blocks: 1},
		{Scope: kvcache.Scope{Salt: "other"}, Digests: d("y"), Blocks: 9},
	}
	none, tales := []scaledAdapter{}, []scaledAdapter{{"tales", 2}}
	for most, want := range map[int]prefixLoad{
		100: {64, true, []prefixSet{{none, of("apbxqc")}, {tales, of("pqrs")}}},
		7:   {64, false, []prefixSet{{none, of("apbxqc")}, {tales, of("p")}}},
		3:   {64, false, []prefixSet{{none, of("apb")}}},
	} {
		if diff := cmp.Diff(want, listPrefixes(all, "", loadedAdapters{}, most)); diff != "" {
			t.Errorf("%d: %s", most, diff)
		}
	}
	if p := listPrefixes(all, "other", nil, 100); p.Complete || len(p.Sets) != 1 {
		t.Errorf("one whose digests are not all computed: %+v", p)
	}
	used := []scheduler.AdapterLoad{{Key: "gone", Running: 4}, {Key: "tales", Running: 2, Waiting: 1}}
	if diff := cmp.Diff([]adapterLoad{{"tales", 0.5, 2, 1}, {"rhymes", 0, 0, 0}}, adaptersOf(loadedAdapters{}, used)); diff != "" {
		t.Error(diff)
	}
}

// looked is a scheduler with a load.
type looked struct {
	servingtest.NoScheduler
	load scheduler.Load
}

func (l looked) Load(context.Context) (scheduler.Load, error) { return l.load, nil }

// BenchmarkAPI_Load is a poll of a server with 256 slots and 100,000 cached cells, 1,024 of whose
// digests are told, or none.
func BenchmarkAPI_Load(b *testing.B) {
	l := scheduler.Load{At: time.Now(), Slots: 256, Running: 256, Cells: 1 << 17, CellsUsed: 100000}
	tokens := make([]kvcache.Token, 390)
	for i := range 256 {
		tokens[0] = kvcache.Token(i)
		digests := kvcache.Digests(tokens)
		l.Prefixes = append(l.Prefixes, kvcache.Prefix{Digests: digests, Blocks: len(digests)})
	}
	handler := New(Options{Models: servingtest.OneModel{Model: &serving.Model{Info: servingtest.Info(), Scheduler: looked{load: l}}}, Log: slog.New(slog.DiscardHandler)})
	for _, digests := range []int{0, 1024, 8192} {
		b.Run(fmt.Sprintf("digests=%d", digests), func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/load?digests=%d", digests), nil))
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
