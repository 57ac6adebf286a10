// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

// planner is a guest with everything, whose plan emits the text of its configuration's member p,
// which is all of {"p": …} but the first five bytes and the last one. It counts its plans at
// hosttest.AtScratch.
func planner(manifest string) *asm.Guest {
	const at = hosttest.AtBuffer
	g := asm.New(manifest)
	size := slices.Concat(asm.I32(at), asm.I32(4096), g.Call(abi.ImportConfig))
	g.On(abi.ExportPlan,
		asm.I32(hosttest.AtScratch), asm.I32(hosttest.AtScratch), asm.Load, asm.I32(1), asm.Add, asm.Store,
		size, asm.I32(6), asm.Less, asm.When(asm.I32(0), asm.Return),
		asm.I32(at+5), size, asm.I32(6), asm.Subtract, g.Call(abi.ImportEmit), asm.I32(0))
	for _, name := range []string{abi.ExportSample, abi.ExportAccept} {
		g.On(name, asm.I32(-1))
	}
	g.On(abi.ExportOpen, asm.I32(0)).On(abi.ExportRun, asm.I32(0))
	g.Call(abi.ImportLogprob)
	return g
}

const widest = `{"name":"guest","view":"logits","candidates":100,"hold":9,"take_back":50,"branches":4}`

func with(t *testing.T, p *Plugin, client, config string) *Plugin {
	t.Helper()
	q := must.Get(p.With(t.Context(), client, json.RawMessage(config)))(t)
	t.Cleanup(q.Release)
	return q
}

func TestPlugin_With_NarrowsTheManifest(t *testing.T) {
	p := mustLoad(t, hosttest.Open(t, New), planner(widest))
	for plan, want := range map[string]Manifest{
		`{"implements":["penstock_open","penstock_sample"]}`: {View: ViewLogits, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst},
		`{"implements":["penstock_open","penstock_sample"],"view":"candidates","candidates":40,"hold":2,"take_back":0,"summary":"s","unknown":1}`: {
			View: ViewCandidates, Candidates: 40, Hold: 2, Place: PlaceLast, Summary: "s"},
		`{"implements":["penstock_open","penstock_sample"],"view":"candidates","place":"first"}`: {View: ViewCandidates, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst},
		`{"implements":["penstock_accept"],"hold":null}`:                                         {View: ViewNone, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst},
		`{"implements":["penstock_run"],"branches":2}`:                                           {View: ViewNone, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst, Branches: 2},
		`{"implements":["penstock_run"]}`:                                                        {View: ViewNone, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst, Branches: 4},
		`{"implements":[],"config_schema":{"type":"object"}}`: {View: ViewNone, Candidates: 100, Hold: 9, TakeBack: 50, Place: PlaceFirst,
			ConfigSchema: []byte(`{"type":"object"}`)},
	} {
		q := with(t, p, "me", `{"p":`+plan+`}`)
		got := q.Manifest
		var said struct{ Implements []string }
		must.Do(t, json.Unmarshal([]byte(plan), &said))
		want.Name, want.Implements, want.Unknown, got.Unknown = "guest", said.Implements, nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", plan, diff)
		}
		if q.IsProgram() != strings.Contains(plan, "run") || q.Module.Has(guest.Sample) != strings.Contains(plan, "sample") || q.Module.Hold != got.Hold {
			t.Errorf("%s: program %v, sample %v, hold %d", plan, q.IsProgram(), q.Module.Has(guest.Sample), q.Module.Hold)
		}
	}
	if p.Manifest.Hold != 9 || !p.Module.Has(guest.Sample) || !p.Module.Has(guest.Run) {
		t.Errorf("the plugin itself was narrowed: %+v", p.Manifest)
	}
}

func TestPlugin_With_RefusesToWiden(t *testing.T) {
	p := mustLoad(t, hosttest.Open(t, New, func(o *plugin.HostOptions) { o.Limits.Faults = 1 << 30 }), planner(widest))
	const sampler = `"implements":["penstock_open","penstock_sample"]`
	for plan, want := range map[string]string{
		`{` + sampler + `,"hold":10}`:                        "hold is 10; the manifest's is 9: a plan can have 0 to 9",
		`{` + sampler + `,"hold":-1}`:                        "hold is -1",
		`{` + sampler + `,"candidates":101}`:                 "candidates is 101; the manifest's is 100: a plan can have 1 to 100",
		`{` + sampler + `,"candidates":0}`:                   "candidates is 0",
		`{` + sampler + `,"take_back":51}`:                   "take_back is 51",
		`{` + sampler + `,"branches":1}`:                     "branches is 1; branches are for plans with penstock_run",
		`{` + sampler + `,"view":"rows"}`:                    `view is "rows"; the manifest's is "logits"`,
		`{` + sampler + `,"place":"last"}`:                   `place is "last", but the view is "logits"`,
		`{` + sampler + `,"name":"other"}`:                   `name is "other"; a plan cannot change it`,
		`{` + sampler + `,"strict_mask":true}`:               "strict_mask is true; a plan cannot change it",
		`{` + sampler + `,"needs":["time"]}`:                 `needs has "time"; it may have`,
		`{` + sampler + `,"hold":"1"}`:                       `hold is "1"`,
		`{"implements":["penstock_run"],"branches":5}`:       "branches is 5; the manifest's is 4: a plan can have 1 to 4",
		`{"implements":["penstock_run","penstock_accept"]}`:  "penstock_run and penstock_accept",
		`{"implements":["penstock_stop"]}`:                   `implements has "penstock_stop", which the manifest does not implement`,
		`{"implements":["penstock_sample"]}`:                 "implements lacks penstock_open",
		`{"implements":["penstock_accept"],"view":"logits"}`: `view is "logits", but penstock_sample is not exported`,
		`{"hold":1}`: "penstock_run and penstock_sample",
		`[]`:         "it must be a JSON object",
		`{}{}`:       "one JSON object",
		`{"summary":"` + strings.Repeat("x", 1025) + `"` + `}`: "1024 bytes",
	} {
		_, err := p.With(t.Context(), "me", json.RawMessage(`{"p":`+plan+`}`))
		var fault *plugin.Fault
		if !errors.As(err, &fault) || !errors.Is(err, plugin.CauseAnswer) || fault.Export != abi.ExportPlan || !strings.Contains(plugin.Told(err), want) {
			t.Errorf("%.80s: %.200s; want %q", plan, plugin.Told(err), want)
		}
		if err != nil && strings.Contains(err.Error(), "hold") {
			t.Errorf("%.80s: what the log gets quotes the plan: %v", plan, err)
		}
	}
}

// A plan that says less can only be narrower: with the view none the plugin samples without one.
func TestPlugin_With_Needs(t *testing.T) {
	p := mustLoad(t, hosttest.Open(t, New), planner(widest))
	for plan, want := range map[string]bool{`{"implements":[]}`: true, `{"implements":[],"needs":["logprob","note"]}`: true, `{"implements":[],"needs":[]}`: false} {
		if q := with(t, p, "me", `{"p":`+plan+`}`); q.Needs(abi.ImportLogprob) != want || q.Needs(abi.ImportNote) {
			t.Errorf("%s: needs logprob %v, note %v", plan, q.Needs(abi.ImportLogprob), q.Needs(abi.ImportNote))
		}
	}
}

func TestPlugin_With_WithoutAPlan_IsItself(t *testing.T) {
	l, large, _ := modelless(t)
	plain := mustLoad(t, l, choosy())
	used := must.Get(plain.For(t.Context(), large))(t)
	for _, p := range []*Plugin{used, mustLoad(t, l, planner(widest))} { // of the second there is no model
		if q := with(t, p, "me", `{"p":7}`); q != p {
			t.Errorf("%s: another plugin", p.Name)
		}
	}
}

// keeper is a guest whose plan grows memory, and leaves 7 and a global of 3 in it; open adds up
// what it finds at hosttest.AtScratch, and writes over it.
func keeper() *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportWarm, asm.Poke(2<<16, 5), asm.I32(0))
	g.On(abi.ExportPlan, asm.I32(1), asm.GrowMemory, asm.Drop, asm.Poke(4<<16, 7), asm.I32(3), asm.SetGlobal(0), asm.I32(0))
	return g.On(abi.ExportOpen, asm.I32(hosttest.AtScratch), asm.I32(4<<16), asm.Load, asm.I32(2<<16), asm.Load, asm.Add, asm.Global(0), asm.Add, asm.Store,
		asm.Poke(4<<16, 100), asm.Poke(2<<16, 100), asm.I32(9), asm.SetGlobal(0), asm.I32(0))
}

func TestPlugin_With_InstancesStartFromItsMemory(t *testing.T) {
	l := hosttest.Open(t, New)
	p := mustLoad(t, l, keeper())
	q := with(t, p, "me", `{}`)
	for range 3 {
		if got := use(t, q); got != 15 {
			t.Errorf("7 + 5 + 3 is %d", got)
		}
	}
	page := uint64(os.Getpagesize())
	if own := q.Module.OwnMemory(); own != page {
		t.Errorf("%d bytes differ; a page has %d", own, page)
	}
	if used, _ := l.MemoryUse(); used != int64(page) {
		t.Errorf("%d bytes are taken", used)
	}
}

func TestPlugin_With_NothingLasts(t *testing.T) {
	l, large, _ := modelless(t)
	p := must.Get(l.Load(t.Context(), keeper().Wasm()))(t)
	used := must.Get(p.For(t.Context(), large))(t)
	q := must.Get(used.With(t.Context(), "me", json.RawMessage(`{}`)))(t)
	other, err := q.With(t.Context(), "me", json.RawMessage(`{"a":1}`))
	if err != nil || other == q {
		t.Fatalf("a plan does not plan anew: %v", err)
	}
	if again, err := q.For(t.Context(), large); err != nil || again != used {
		t.Errorf("a plan for a model is not the plugin: %v", err)
	}
	other.Release()
	p.Release()
	if got := use(t, q); got != 15 {
		t.Errorf("after the plugin was released: %d", got)
	}
	q.Release()
	if used, _ := l.MemoryUse(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
	if _, err := q.With(t.Context(), "me", nil); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("with a plugin that is gone: %v", err)
	}
	if q.Retain() {
		t.Error("it can be retained")
	}
}

// calls counts the calls of an export, and the faults.
type calls struct {
	export string
	n      atomic.Int64
	faults sync.Map
}

func (c *calls) PluginCalls(_, export string) func(time.Duration) {
	return func(time.Duration) {
		if export == c.export {
			c.n.Add(1)
		}
	}
}

func (c *calls) PluginFault(_, kind string) { c.faults.Store(kind, true) }

// observed is a loader whose plans are counted.
func observed(t *testing.T, change ...func(*plugin.HostOptions)) (*Loader, *calls) {
	t.Helper()
	c := &calls{export: abi.ExportPlan}
	return hosttest.Open(t, New, append(change, func(o *plugin.HostOptions) { o.Observer = c })...), c
}

func TestPlugin_With_PlansOncePerClient(t *testing.T) {
	l, c := observed(t)
	p := mustLoad(t, l, keeper())
	first := with(t, p, "me", `{"a":1}`)
	if with(t, p, "me", `{"a":1}`) != first || c.n.Load() != 1 {
		t.Errorf("%d plans for one configuration", c.n.Load())
	}
	if with(t, p, "me", `{"a":2}`) == first || with(t, p, "you", `{"a":1}`) == first || c.n.Load() != 3 {
		t.Errorf("%d plans for three: nobody gets another's", c.n.Load())
	}
}

func TestPlugin_With_AtOnce_PlansOnce(t *testing.T) {
	l, c := observed(t)
	p := mustLoad(t, l, keeper())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			q, err := p.With(t.Context(), "me", json.RawMessage(`{}`))
			if err != nil {
				t.Error(err)
				return
			}
			q.Release()
		})
	}
	group.Wait()
	if n := c.n.Load(); n != 1 {
		t.Errorf("%d plans", n)
	}
}

// slow is a guest whose plan waits for a grammar, of which slots opens one at a time.
func slow() *asm.Guest {
	g := hosttest.Plain()
	return g.On(abi.ExportPlan, asm.I32(0), asm.I32(hosttest.AtScratch), asm.I32(0), g.Call(abi.ImportGrammarOpen), asm.Drop, asm.I32(0))
}

// gate is an engine for grammars that tells when it is asked, and answers when it is told to.
type gate struct{ asked, answer chan struct{} }

func (g gate) Open(ctx context.Context, _ string, _ int32, _ string) (plugin.Grammar, uint64, error) {
	g.asked <- struct{}{}
	select {
	case <-g.answer:
	case <-ctx.Done():
	}
	return nil, 0, errors.New("no grammar")
}

func TestPlugin_With_CancelledWaiters(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	l, c := observed(t, func(o *plugin.HostOptions) { o.Grammars = g })
	p := mustLoad(t, l, slow())
	type result struct {
		plugin *Plugin
		err    error
	}
	ask := func(ctx context.Context) chan result {
		came := make(chan result, 1)
		go func() {
			q, err := p.With(ctx, "me", json.RawMessage(`{}`))
			came <- result{q, err}
		}()
		return came
	}
	first, cancel := context.WithCancel(t.Context())
	one := ask(first)
	<-g.asked
	two := ask(t.Context())
	waiting := func(n int) bool {
		p.model.plans.mu.Lock()
		defer p.model.plans.mu.Unlock()
		for _, e := range p.model.plans.kept {
			return e.users == n
		}
		return n == 0
	}
	for !waiting(2) {
		runtime.Gosched() // nothing tells of it
	}
	cancel()
	if r := <-one; !errors.Is(r.err, context.Canceled) {
		t.Errorf("the first: %v", r.err)
	}
	close(g.answer)
	r := <-two
	if r.err != nil {
		t.Fatalf("the second: %v", r.err)
	}
	r.plugin.Release()
	if c.n.Load() != 1 {
		t.Errorf("%d plans", c.n.Load())
	}
}

func TestPlugin_With_NobodyWaits_Ends(t *testing.T) {
	g := gate{make(chan struct{}), make(chan struct{})}
	l, _ := observed(t, func(o *plugin.HostOptions) { o.Grammars = g })
	p := mustLoad(t, l, slow())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.asked
		cancel()
	}()
	if _, err := p.With(ctx, "me", json.RawMessage(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	again := make(chan error, 1)
	go func() {
		q, err := p.With(t.Context(), "me", json.RawMessage(`{}`))
		if err == nil {
			q.Release()
		}
		again <- err
	}()
	<-g.asked
	close(g.answer)
	if err := <-again; err != nil {
		t.Errorf("the next one joins one that has ended: %v", err)
	}
}

func TestPlugin_With_KeepsAFewOfEachClient(t *testing.T) {
	l, c := observed(t)
	p := mustLoad(t, l, keeper())
	held := with(t, p, "me", `{"a":"held"}`)
	ask := func(client string, n int) {
		t.Helper()
		q := must.Get(p.With(t.Context(), client, fmt.Appendf(nil, `{"a":%d}`, n)))(t)
		q.Release()
	}
	ask("you", 0)
	for n := range 2 * mostOfClient {
		ask("me", n)
	}
	before := c.n.Load()
	ask("me", 2*mostOfClient-1)
	ask("you", 0)
	if with(t, p, "me", `{"a":"held"}`) != held || c.n.Load() != before {
		t.Error("the last one, what is in use, and that of another client are kept")
	}
	ask("me", 0)
	if c.n.Load() != before+1 {
		t.Error("the oldest one is kept")
	}
	if n := len(p.model.plans.kept); n > mostOfClient+1 {
		t.Errorf("%d are kept", n)
	}
	for client := range 2 * mostPlans / mostOfClient {
		for n := range mostOfClient {
			ask(fmt.Sprint(client), n)
		}
	}
	if n := len(p.model.plans.kept); n > mostPlans {
		t.Errorf("%d are kept", n)
	}
	if used, _ := l.MemoryUse(); used != int64(len(p.model.plans.kept)*os.Getpagesize()) || p.model.plans.all.bytes != used {
		t.Errorf("%d bytes are taken, %d counted", used, p.model.plans.all.bytes)
	}
}

// Whoever comes back to a plan that is kept no longer has the plugin plan once more.
func TestPlugin_With_ComesBack(t *testing.T) {
	l, c := observed(t)
	p := mustLoad(t, l, keeper())
	var first *Plugin
	for n := range mostOfClient + 1 {
		q := must.Get(p.With(t.Context(), "me", fmt.Appendf(nil, `{"a":%d}`, n)))(t)
		if q.Release(); n == 0 {
			first = q
		}
	}
	if first.Retain() {
		t.Fatal("it is kept")
	}
	again := must.Get(first.With(t.Context(), "me", json.RawMessage(`{"a":0}`)))(t)
	defer again.Release()
	if use(t, again) != 15 || c.n.Load() != mostOfClient+2 {
		t.Errorf("%d plans", c.n.Load())
	}
}

// A client's plans have a share of the memory, however few they are.
func TestPlugin_With_BoundsMemory(t *testing.T) {
	g := hosttest.Plain()
	const pages = 100 // 6.25 MiB
	g.On(abi.ExportPlan, asm.I32(pages), asm.GrowMemory, asm.Drop, asm.I32(4<<16), asm.I32(1), asm.I32(pages<<16), asm.Fill, asm.I32(0))
	l, _ := observed(t)
	p := mustLoad(t, l, g)
	for n := range 6 {
		q := must.Get(p.With(t.Context(), "me", fmt.Appendf(nil, `{"a":%d}`, n)))(t)
		q.Release()
	}
	if used, all := l.MemoryUse(); used != 2*pages<<16 {
		t.Errorf("%d bytes are kept; a client may have %d", used, all/ofMemory/4)
	}
	much := hosttest.Plain()
	much.On(abi.ExportPlan, asm.I32(300), asm.GrowMemory, asm.Drop, asm.I32(4<<16), asm.I32(1), asm.I32(300<<16), asm.Fill, asm.I32(0))
	_, err := mustLoad(t, l, much).With(t.Context(), "me", nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseLimit, "19200 KiB; 16384 KiB are the most")
}

// Where plugins have little memory, plans that nobody uses leave most of it.
func TestPlugin_With_LittleMemory(t *testing.T) {
	g := hosttest.Plain() // its plan keeps 64 KiB
	g.On(abi.ExportPlan, asm.I32(1), asm.GrowMemory, asm.Drop, asm.I32(4<<16), asm.I32(1), asm.I32(1<<16), asm.Fill, asm.I32(0))
	l, _ := observed(t, func(o *plugin.HostOptions) { o.Limits.Memory = 16 << 20 })
	p := mustLoad(t, l, g)
	for n := range 64 {
		q := must.Get(p.With(t.Context(), fmt.Sprint(n), nil))(t)
		q.Release()
	}
	if used, _ := l.MemoryUse(); used == 0 || used > 16<<20/ofMemory {
		t.Errorf("%d bytes are kept", used)
	}
}

func TestPlugin_With_Refusal_IsKept(t *testing.T) {
	g := hosttest.Plain().Put(hosttest.AtScratch, "line 3: no such thing")
	g.On(abi.ExportPlan, asm.I32(hosttest.AtScratch), asm.I32(21), g.Call(abi.ImportFail), asm.I32(1))
	l, c := observed(t)
	p := mustLoad(t, l, g)
	for range 2 {
		_, err := p.With(t.Context(), "me", json.RawMessage(`{}`))
		var refusal *plugin.Refusal
		if !errors.As(err, &refusal) || refusal.Export != abi.ExportPlan || refusal.Message != "line 3: no such thing" {
			t.Errorf("got %v", err)
		}
	}
	if c.n.Load() != 1 {
		t.Errorf("%d plans", c.n.Load())
	}
}

// Whoever traps in plans has to wait; whoever says why has not.
func TestPlugin_With_Faults(t *testing.T) {
	said := hosttest.Plain().Put(hosttest.AtScratch, "x is null")
	said.On(abi.ExportPlan, asm.I32(hosttest.AtScratch), asm.I32(9), said.Call(abi.ImportFail), asm.Unreachable)
	silent := hosttest.Plain().On(abi.ExportPlan, asm.Unreachable)
	for name, tc := range map[string]struct {
		guest *asm.Guest
		cause error
		kind  string
		waits bool
	}{"said": {said, plugin.CauseError, "error", false}, "silent": {silent, plugin.CauseTrap, "trap", true}} {
		l, c := observed(t)
		p := mustLoad(t, l, tc.guest)
		var err error
		for n := range abi.LimitFaults + 1 {
			_, err = p.With(t.Context(), "me", fmt.Appendf(nil, `{"a":%d}`, n))
			if n == 0 {
				hosttest.MustFault(t, err, abi.ExportPlan, tc.cause, "")
			}
		}
		if errors.Is(err, plugin.ErrQuarantined) != tc.waits {
			t.Errorf("%s: after %d faults: %v", name, abi.LimitFaults, err)
		}
		if _, ok := c.faults.Load(tc.kind); !ok {
			t.Errorf("%s: no fault of the kind %q was counted", name, tc.kind)
		}
		if _, err := p.With(t.Context(), "you", nil); errors.Is(err, plugin.ErrQuarantined) {
			t.Errorf("%s: another client waits, too: %v", name, err)
		}
	}
}

func TestPlugin_With_Endless_HasLimitsOfItsOwn(t *testing.T) {
	l := hosttest.Open(t, New, func(o *plugin.HostOptions) { o.Limits.PlanFuel = 1 << 20 })
	_, err := mustLoad(t, l, hosttest.Plain().On(abi.ExportPlan, asm.Forever)).With(t.Context(), "me", nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseFuel, "")
	slow := hosttest.Open(t, New, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.PlanTime = 10 * time.Millisecond })
	_, err = mustLoad(t, slow, hosttest.Plain().On(abi.ExportPlan, asm.Forever)).With(t.Context(), "me", nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseTime, "not done after")
	much := hosttest.Plain()
	much.On(abi.ExportPlan, asm.Each(0, asm.I32(2), asm.I32(0), asm.I32(abi.LimitPlanBytes*3/4), much.Call(abi.ImportEmit)), asm.I32(0))
	_, err = mustLoad(t, l, much).With(t.Context(), "me", nil)
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseLimit, "65536")
}

func TestLoader_Load_RefusesPlansThatCannotBeCopied(t *testing.T) {
	g := hosttest.Plain().On(abi.ExportPlan, asm.I32(0), asm.SetTable, asm.I32(0))
	g.Table = 1
	if _, err := hosttest.Open(t, New).Load(t.Context(), g.Wasm()); !errors.Is(err, plugin.ErrExport) || !strings.Contains(err.Error(), "changes a table") {
		t.Errorf("got %v", err)
	}
}

// A model that is closed frees its plans, and gives no more.
func TestModel_Close_FreesPlans(t *testing.T) {
	l, large, _ := modelless(t)
	used := must.Get(mustLoad(t, l, keeper()).For(t.Context(), large))(t)
	q := with(t, used, "me", `{}`)
	must.Do(t, large.Close(t.Context()))
	if used, _ := l.MemoryUse(); used != 0 {
		t.Errorf("%d bytes are left", used)
	}
	if _, err := used.With(t.Context(), "me", json.RawMessage(`{}`)); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("another plan: %v", err)
	}
	if _, err := q.Begin(&plugin.RequestInfo{}); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("a use: %v", err)
	}
}

// Plans are asked for, used and dropped by many at a time, and the plugin goes in the middle of it.
func TestPlugin_With_Hammer(t *testing.T) {
	l := hosttest.Open(t, New)
	for range 10 {
		p := must.Get(l.Load(t.Context(), keeper().Wasm()))(t)
		var group sync.WaitGroup
		for n := range 4 {
			if !p.Retain() {
				t.Fatal("it is released")
			}
			group.Go(func() {
				defer p.Release()
				for k := range 2 * mostOfClient {
					q, err := p.With(context.Background(), "me", fmt.Appendf(nil, `{"a":%d}`, (k*(n+1))%(mostOfClient+5)))
					if err != nil {
						t.Error(err)
						return
					}
					if k%4 == 0 && !q.Retain() {
						t.Error("it is gone")
					} else if k%4 == 0 {
						q.Release()
					}
					s, err := q.Begin(&plugin.RequestInfo{})
					if err != nil {
						t.Error(err)
						return
					}
					i, err := q.Module.NewInstance(context.Background(), s)
					if err != nil {
						t.Error(err)
						return
					}
					q.Release()
					if err := i.Close(true); err != nil {
						t.Error(err)
					}
					q.End()
				}
			})
		}
		group.Go(p.Release)
		group.Wait()
	}
	for used, _ := l.MemoryUse(); used != 0; used, _ = l.MemoryUse() {
		runtime.Gosched() // who planned last may still have to let go; a leak hangs here
	}
}

// What is a part of the program may take longer to compile than what is uploaded.
func TestLoader_LoadEmbedded_HasWiderBounds(t *testing.T) {
	load := slices.Concat(asm.I32(0), asm.Load, asm.Drop)
	g := hosttest.Plain().On(abi.ExportAccept, bytes.Repeat(load, 1000), asm.I32(0))
	l := hosttest.Open(t, New, func(o *plugin.HostOptions) { o.Limits.Module.FunctionWork = 100_000 })
	if _, err := l.Load(t.Context(), g.Wasm()); !errors.Is(err, plugin.ErrLimit) {
		t.Errorf("as an upload: %v", err)
	}
	p := must.Get(l.LoadEmbedded(t.Context(), g.Wasm()))(t)
	p.Release()
}
