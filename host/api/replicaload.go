// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// load is GET /v1/load: what a router needs to choose among replicas.
type load struct {
	Object  string       `json:"object"`
	Replica replica      `json:"replica"`
	State   string       `json:"state"` // ready, draining
	Models  []modelLoad  `json:"models"`
	Plugins []pluginLoad `json:"plugins"`
}

// replica says which server answers. ID and Started are others after a restart, when nothing is
// cached any more.
type replica struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Started int64  `json:"started"` // seconds since 1970
}

// modelLoad is a model. All after Failed is there once it is loaded and makes text.
type modelLoad struct {
	Name           string   `json:"name"`
	Aliases        []string `json:"aliases"`
	Digest         string   `json:"digest"`
	Default        bool     `json:"default"`
	State          string   `json:"state"` // unloaded, loading, loaded
	WaitingForLoad int      `json:"waiting_for_load"`
	Failed         bool     `json:"failed,omitempty"` // it did not load the last time

	*work
}

// work is what a model is doing.
type work struct {
	AgeMS    float64       `json:"age_ms"` // how old all of it is but the length of the queue
	Slots    slotLoad      `json:"slots"`
	Queue    queueLoad     `json:"queue"`
	Tokens   tokenLoad     `json:"tokens"`
	Rates    rateLoad      `json:"tokens_per_second"`
	KVCache  cacheLoad     `json:"kv_cache"`
	Adapters []adapterLoad `json:"adapters"`
	Prefixes prefixLoad    `json:"prefixes"`
}

type slotLoad struct {
	All  int `json:"all"`
	Busy int `json:"busy"`
}

type queueLoad struct {
	Length   int     `json:"length"`
	OldestMS float64 `json:"oldest_ms"` // 0: none waits for its first slot
}

type tokenLoad struct {
	Prompt    uint64 `json:"prompt"`
	Generated uint64 `json:"generated"`
}

type rateLoad struct {
	Prompt    float64 `json:"prompt"`
	Generated float64 `json:"generated"`
}

type cacheLoad struct {
	Cells  int `json:"cells"`
	Used   int `json:"used"`
	Cached int `json:"cached"` // of Used, no request's
}

type adapterLoad struct {
	Name    string  `json:"name"`
	Scale   float32 `json:"scale"` // for requests that name none
	Running int     `json:"running"`
	Waiting int     `json:"waiting"`
}

type pluginLoad struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	State  string `json:"state"`
}

// The bounds of the query's digests.
const (
	usualDigests = 1024
	mostDigests  = 8192
)

// loads answers GET /v1/load. What changes seldom it looks up once in inventoryAge, since it may
// be asked many times a second.
type loads struct {
	replica replica

	mu      sync.Mutex
	at      time.Time // of what follows
	models  []serving.Listed
	plugins []pluginLoad
}

const inventoryAge = time.Second

func newLoads(o Options) *loads {
	return &loads{replica: replica{Name: o.Replica, ID: rand.Text(), Version: o.Version, Started: time.Now().Unix()}}
}

// load is GET /v1/load.
func (s *service) load(c echo.Context) error {
	most := usualDigests
	if text := c.QueryParam("digests"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil || most < 0 || most > mostDigests {
			return refusal.Invalid("digests", "digests is %.40q; it must be a number from 0 to %d", text, mostDigests)
		}
	}
	answer := load{Object: "load", Replica: s.loads.replica, State: "ready"}
	if !s.Ready() {
		answer.State = "draining"
	}
	models, plugins := s.takeInventory()
	answer.Plugins = plugins
	residents := s.Models.Residents()
	for i, listed := range models {
		m := modelLoad{Name: listed.Name, Aliases: append([]string{}, listed.Aliases...), Digest: listed.Digest, Default: i == 0, State: "unloaded", Failed: listed.Failed != nil}
		for _, r := range residents {
			if r.Name != listed.Name {
				continue
			}
			m.State, m.WaitingForLoad = "loading", r.Waiting
			if r.Model != nil {
				m.State, m.work = "loaded", workOf(c.Request().Context(), r.Model, wire.CallerOf(c).CacheSalt, most)
			}
		}
		answer.Models = append(answer.Models, m)
	}
	return c.JSON(http.StatusOK, answer)
}

// takeInventory collects what changes seldom.
func (s *service) takeInventory() ([]serving.Listed, []pluginLoad) {
	l := s.loads
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < inventoryAge {
		return l.models, l.plugins
	}
	l.models, l.plugins = s.Models.List(), []pluginLoad{}
	if s.Catalog != nil {
		for _, p := range s.Catalog.List() {
			l.plugins = append(l.plugins, pluginLoad{p.Name, p.SHA256, p.State})
		}
	}
	l.at = time.Now()
	return l.models, l.plugins
}

// workOf describes a loaded model to a caller with a cache salt; nil where it makes no text, or is
// being unloaded.
func workOf(ctx context.Context, m *serving.Model, salt string, digests int) *work {
	if m.EmbedsOnly {
		return nil
	}
	l, err := m.Scheduler.Load(ctx)
	if err != nil {
		return nil
	}
	w := &work{AgeMS: milliseconds(l.At), Slots: slotLoad{l.Slots, l.Running}, Queue: queueLoad{Length: l.Waiting}, Tokens: tokenLoad(l.Tokens),
		Rates: rateLoad(l.Rates), KVCache: cacheLoad{l.Cells, l.CellsUsed, l.CellsCached}, Adapters: adaptersOf(m.Adapters, l.Adapters)}
	if !l.Oldest.IsZero() {
		w.Queue.OldestMS = milliseconds(l.Oldest)
	}
	w.Prefixes = listPrefixes(l.Prefixes, salt, m.Adapters, digests)
	return w
}

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// adaptersOf are the loaded adapters with the requests that have them.
func adaptersOf(a serving.Adapters, used []scheduler.AdapterLoad) []adapterLoad {
	list := []adapterLoad{}
	if a == nil {
		return list
	}
	at := map[int]int{} // by ID
	for i, info := range a.List() {
		at[info.ID] = i
		list = append(list, adapterLoad{Name: info.Name, Scale: info.Scale})
	}
	for _, u := range used {
		set, ok := a.Named(u.Key)
		if !ok {
			continue
		}
		for _, s := range set {
			if i, loaded := at[s.ID]; loaded {
				list[i].Running += u.Running
				list[i].Waiting += u.Waiting
			}
		}
	}
	return list
}

// prefixLoad is what GET /v1/load tells of cached prompts and answers.
type prefixLoad struct {
	BlockTokens int         `json:"block_tokens"`
	Complete    bool        `json:"complete"` // no digest is left out
	Sets        []prefixSet `json:"sets"`
}

// prefixSet are the digests of what is computed with the same adapters.
type prefixSet struct {
	Adapters []scaledAdapter `json:"adapters"` // none: the model alone
	Digests  []string        `json:"digests"`
}

type scaledAdapter struct {
	Name  string  `json:"name"`
	Scale float32 `json:"scale"`
}

// listPrefixes lists the cached prefixes that requests with a cache salt may use, with at most
// `most` digests.
func listPrefixes(all []kvcache.Prefix, salt string, a serving.Adapters, most int) prefixLoad {
	p := prefixLoad{BlockTokens: kvcache.BlockTokens, Complete: true, Sets: []prefixSet{}}
	byKey := map[string][][]kvcache.Digest{}
	for _, prefix := range all {
		if prefix.Scope.Salt != salt {
			continue
		}
		p.Complete = p.Complete && len(prefix.Digests) == prefix.Blocks
		byKey[prefix.Scope.Adapters] = append(byKey[prefix.Scope.Adapters], prefix.Digests)
		if prefix.Scope.Adapters != "" { // what comes before they count is the model's own
			own := min(len(prefix.Digests), prefix.Scope.From/kvcache.BlockTokens)
			byKey[""] = append(byKey[""], prefix.Digests[:own])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		set := prefixSet{Adapters: []scaledAdapter{}}
		if key != "" {
			named, loaded := namesOf(a, key)
			if !loaded {
				continue
			}
			set.Adapters = named
		}
		var whole bool
		set.Digests, whole = collectDigests(byKey[key], most)
		p.Complete = p.Complete && whole
		if most -= len(set.Digests); len(set.Digests) > 0 {
			p.Sets = append(p.Sets, set)
		}
	}
	return p
}

func namesOf(a serving.Adapters, key string) (names []scaledAdapter, ok bool) {
	if a == nil {
		return nil, false
	}
	set, ok := a.Named(key)
	for _, s := range set {
		names = append(names, scaledAdapter{s.Name, s.Scale})
	}
	return names, ok
}

// collectDigests collects at most `most` digests of prefixes, each once: first those of all first
// blocks, then of all second ones, and so on. So each prefix is found, a long one perhaps as if it
// were shorter. It reports whether none was left out.
func collectDigests(prefixes [][]kvcache.Digest, most int) (digests []string, whole bool) {
	digests = []string{}
	seen := map[kvcache.Digest]bool{}
	for depth := 0; ; depth++ {
		prefixes = slices.DeleteFunc(prefixes, func(p []kvcache.Digest) bool { return len(p) <= depth })
		if len(prefixes) == 0 {
			return digests, true
		}
		for _, p := range prefixes {
			switch d := p[depth]; {
			case seen[d]:
			case len(digests) == most:
				return digests, false
			default:
				seen[d] = true
				digests = append(digests, d.String())
			}
		}
	}
}
