// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/quarantine"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// openLater begins a stage and opens it in a goroutine.
func openLater(t *testing.T, p *load.Plugin) (*Stage, <-chan error) {
	t.Helper()
	s := must.Get(New(p, plugin.RequestInfo{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	opened := make(chan error, 1)
	go func() { opened <- s.Reset([]int32{1}, 1) }()
	return s, opened
}

func TestStage_Interrupt_EndsTheCall(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless), hosttest.Plain().On(abi.ExportOpen, forever))
	s, opened := openLater(t, m)
	s.Interrupt()
	s.Interrupt() // twice does no harm
	if err := <-opened; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if h := m.Health(); h.Faults != 0 || h.Quarantined {
		t.Errorf("an interruption counts against the plugin: %+v", h)
	}
}

func TestStage_Reset_IsEndedByTheClock(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.SetupTime = 50 * time.Millisecond }), hosttest.Plain().On(abi.ExportOpen, forever))
	_, opened := openLater(t, m)
	if err := <-opened; !errors.Is(err, plugin.CauseTime) && !errors.Is(err, plugin.CauseBusy) { // by what else the machine does
		t.Errorf("error %v", err)
	}
}

// An instance that is told a long answer anew has one time for all of it.
func TestStage_Reset_TellingAnewIsEndedByTheClock(t *testing.T) {
	slow := asm.Each(1, i32(1_000_000), []byte{0x01})
	g := hosttest.Plain().On(abi.ExportOpen, i32(0))
	g.Function(abi.Signature{Name: abi.ExportAccept, Params: []abi.Type{"i32"}, Results: []abi.Type{"i32"}}, 1, slow, i32(0))
	s := useOf(t, hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless), g), plugin.RequestInfo{}, 1)
	s.module.Env.Limits.SetupTime = 20 * time.Millisecond
	if err := s.Reset(make([]int32, 1<<20), 1); !errors.Is(err, plugin.CauseTime) {
		t.Errorf("error %v", err)
	}
}

func TestStage_Release_LastUserFrees(t *testing.T) {
	l := hosttest.Open(t, load.New)
	m := must.Get(l.Load(context.Background(), hosttest.Plain().Wasm()))(t)
	s := must.Get(New(m, plugin.RequestInfo{}))(t)
	m.Release()
	if err := s.Reset([]int32{1}, 1); err != nil {
		t.Errorf("a module in use was freed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(m, plugin.RequestInfo{}); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestStage_Hammer_InstancesDoNotMeet(t *testing.T) {
	m := must.Get(hosttest.Open(t, load.New).Load(t.Context(), counting(false).Wasm()))(t)
	bad := must.Get(hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Limits.Faults = 1 << 30 }).Load(t.Context(), hosttest.Plain().On(abi.ExportAccept, unreachable).Wasm()))(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				hammer(t, m, bad)
			}
		})
	}
	group.Wait()
	for _, p := range []*load.Plugin{m, bad} {
		if p.Release(); p.Retain() {
			t.Error("users are left")
		}
	}
}

func hammer(t *testing.T, good, bad *load.Plugin) {
	for _, m := range []*load.Plugin{good, bad} {
		s, err := New(m, plugin.RequestInfo{})
		if err != nil {
			t.Error(err)
			return
		}
		history := []scheduler.Token{1}
		if err := s.Reset(history, 1); err != nil {
			t.Error(err)
		}
		for n := int32(1); n <= 10; n++ {
			_, err := s.Accept(n)
			if m == bad {
				if err == nil && n == 1 {
					t.Error("no fault")
				}
				continue
			}
			if got := peek(s, hosttest.AtScratch); err != nil || got != n {
				t.Errorf("%d accepted, want %d; %v", got, n, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStage_Memory_IsBounded(t *testing.T) {
	const pages = 16
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Limits.Memory = 3 * pages << 16 })
	g := hosttest.Plain()
	g.Pages = pages
	m := hosttest.Load(t, l, g.On(abi.ExportPrepare, i32(pages), grow, drop, unreachable))
	first := useOf(t, m, plugin.RequestInfo{}, 1)
	second := useOf(t, m, plugin.RequestInfo{}, 1)
	if used, limit := l.MemoryUse(); used != 2*pages<<16 || limit != 3*pages<<16 {
		t.Errorf("%d of %d bytes", used, limit)
	}
	if _, err := first.Prepare(); !errors.Is(err, plugin.CauseTrap) { // it could grow
		t.Errorf("error %v", err)
	}
	third, fourth := useOf(t, m, plugin.RequestInfo{}, 1), openAnother(t, m)
	if err := <-fourth; err != nil { // the first has faulted and is gone
		t.Error(err)
	}
	if _, err := third.Prepare(); !errors.Is(err, plugin.CauseBudget) {
		t.Errorf("growing past the limit: %v", err)
	}
	for range 2 {
		_ = openAnother(t, m)
	}
	if err := <-openAnother(t, m); !errors.Is(err, plugin.CauseBudget) {
		t.Errorf("an instance past the limit: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func openAnother(t *testing.T, m *load.Plugin) <-chan error {
	t.Helper()
	_, opened := openLater(t, m)
	err := <-opened
	again := make(chan error, 1)
	again <- err
	return again
}

func TestStage_Usage_OfTheLastCall(t *testing.T) {
	g := hosttest.Plain().On(abi.ExportAccept, asm.Each(1, local(0), i32(1), drop), i32(1), grow, drop, i32(0))
	s := use(t, g, 1)
	var fuel [2]int64
	for i, loops := range []int32{10, 1000} {
		must.Get(s.Accept(loops))(t)
		u := s.Usage()
		if fuel[i] = u.Fuel; u.Limit != abi.LimitHookFuel || u.Memory != (5+i)<<16 {
			t.Errorf("%+v", u)
		}
	}
	if more := fuel[1] - fuel[0]; more < 990 || more > 990*20 {
		t.Errorf("%d units for 10 loops, %d for 1000", fuel[0], fuel[1])
	}
	if err := s.Close(); err != nil || s.Usage() != (Usage{}) {
		t.Errorf("%+v, %v", s.Usage(), err)
	}
}

func TestStage_Refuse_IsAFault(t *testing.T) {
	why := errors.New("no frogs here")
	for _, c := range []struct {
		act    chain.Act
		why    error
		export string
		cause  error
	}{
		{chain.ActMask, chain.ErrNotAllowed, abi.ExportPrepare, plugin.CauseConflict},
		{chain.ActForce, chain.ErrNotAllowed, abi.ExportPrepare, plugin.CauseConflict},
		{chain.ActChoose, chain.ErrNotAllowed, abi.ExportSample, plugin.CauseConflict},
		{chain.ActSplice, chain.ErrNotAllowed, abi.ExportAccept, plugin.CauseConflict},
		{chain.ActSplice, why, abi.ExportAccept, plugin.CauseAnswer},
		{chain.ActSplice, answer.ErrSpliceLimit, abi.ExportAccept, plugin.CauseLimit},
	} {
		s := use(t, preparing(i32(0)), 1)
		hosttest.MustFault(t, s.Refuse(c.act, c.why), c.export, c.cause, c.why.Error())
	}
}

func TestStage_Refuse_Skip(t *testing.T) {
	calls := hosttest.Plain().On(abi.ExportPrepare, i32(hosttest.AtScratch), i32(1), store, i32(0))
	s := must.Get(New(hosttest.Load(t, hosttest.Open(t, load.New), calls), plugin.RequestInfo{Skip: true}))(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	must.Do(t, s.Reset([]scheduler.Token{1}, 1))
	if err := s.Refuse(chain.ActMask, errors.New("no frogs here")); err != nil {
		t.Errorf("the request ends: %v", err)
	}
	if p, err := s.Prepare(); err != nil || p.Mask != nil || s.instance != nil {
		t.Errorf("it goes on: %+v, %v", p, err)
	}
}

// TestStage_Refuse_Conflicts_NoQuarantine: a client that asks for what a plugin does not do cannot
// take it from others.
func TestStage_Refuse_Conflicts_NoQuarantine(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), preparing(i32(0)))
	for range 2 * abi.LimitFaults {
		hosttest.MustFault(t, useOf(t, m, plugin.RequestInfo{Client: "bob"}, 1).Refuse(chain.ActMask, chain.ErrNotAllowed), abi.ExportPrepare, plugin.CauseConflict, "")
	}
	if h := m.Health(); h.Quarantined || h.Faults != 2*abi.LimitFaults {
		t.Errorf("%+v", h)
	}
	for range abi.LimitFaults {
		_ = useOf(t, m, plugin.RequestInfo{Client: "bob"}, 1).Refuse(chain.ActSplice, answer.ErrSpliceLimit)
	}
	if !m.Health().Quarantined {
		t.Error("faults of its own lead to no quarantine")
	}
}

// declining is a plugin with all calls of a token, which wants log-probabilities and hidden states,
// and declines some calls.
func declining(declined ...string) *asm.Guest {
	g := asm.New(`{"name":"guest","optional":["penstock_draft"]}`)
	var code [][]byte
	for n, export := range declined {
		at := hosttest.AtScratch + 64*n
		g.Put(at, export)
		code = append(code, i32(at), i32(len(export)), g.Call(abi.ImportDecline), drop)
	}
	g.On(abi.ExportOpen, append(code, g.Bind(abi.BufferCandidates, hosttest.AtBuffer, 8*8), g.Bind(abi.BufferText, hosttest.AtBuffer+1024, 256), i32(0))...)
	g.On(abi.ExportPrepare, i32(0)).On(abi.ExportSample, i32(-1)).On(abi.ExportStop, i32(0)).On(abi.ExportDraft, i32(0))
	return g.On(abi.ExportAccept, g.Call(abi.ImportLogprob), drop, i32(0), i32(0), g.Call(abi.ImportState), drop, i32(0))
}

// What a plugin has declined is neither called nor computed for it, in its request alone.
func TestStage_Decline_NeedsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		declined                             []string
		prepares, foresees, logprobs, states bool
		rows                                 int // that candidates are found in
		calls                                []string
	}{
		"nothing":  {nil, true, true, true, true, 1, []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
		"sample":   {[]string{abi.ExportSample}, true, true, true, true, 0, []string{abi.ExportPrepare, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
		"accept":   {[]string{abi.ExportAccept, abi.ExportPrepare}, false, true, false, true, 1, []string{abi.ExportSample, abi.ExportDraft, abi.ExportStop}},
		"all":      {[]string{abi.ExportSample, abi.ExportAccept, abi.ExportPrepare, abi.ExportStop, abi.ExportDraft}, false, false, false, false, 0, nil},
		"required": {[]string{abi.ExportOpen, abi.ExportRun, "penstock_sampel"}, true, true, true, true, 1, []string{abi.ExportPrepare, abi.ExportSample, abi.ExportAccept, abi.ExportDraft, abi.ExportStop}},
	} {
		rows := 0
		l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) {
			o.TopK = func(_ []float32, k int, ids []int32, logits []float32) int {
				rows++
				ids[0], logits[0] = 5, 1
				return 1
			}
		})
		s := must.Get(New(hosttest.Load(t, l, declining(tc.declined...)), plugin.RequestInfo{MaxTokens: 50, ContextSize: 1000}))(t)
		calls := &called{}
		c := chain.New([]chain.Stage{s, &picks{}}, 100, 0)
		must.Do(t, c.Begin([]chain.Token{1}, 1))
		s.Watch(calls)
		if c.Prepares() != tc.prepares || c.Foresees() != tc.foresees || c.WantsLogprobs() != tc.logprobs || len(c.StateLayers()) > 0 != tc.states {
			t.Errorf("%s: prepares %v, foresees %v, log-probabilities %v, states %v", name, c.Prepares(), c.Foresees(), c.WantsLogprobs(), len(c.StateLayers()) > 0)
		}
		if err := c.Prepare(); err != nil {
			t.Error(err)
		}
		token := draw(t, c)
		if _, err := c.Accept(0, token, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.Rule().Check(token, "x"); err != nil {
			t.Error(err)
		}
		if rows != tc.rows || !slices.Equal(calls.names, tc.calls) {
			t.Errorf("%s: candidates of %d rows, calls %v; want %d and %v", name, rows, calls.names, tc.rows, tc.calls)
		}
		chain.Close(c.Stages())
	}
}

func draw(t *testing.T, c *chain.Chain) scheduler.Token {
	t.Helper()
	var row chain.Row
	row.Lend([][]float32{make([]float32, 100)}, &sync.WaitGroup{})
	defer row.Return()
	token, _ := must.Both(c.Draw(&row))(t)
	return token
}

// picks is a stage that takes token 5.
type picks struct{}

func (*picks) Traits() chain.Traits                     { return chain.Traits{} }
func (*picks) Native() bool                             { return false }
func (*picks) Apply(v *chain.View) error                { v.Chosen = 5; return nil }
func (*picks) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }
func (*picks) Reset([]chain.Token, int) error           { return nil }
func (*picks) Close() error                             { return nil }

// called notes which exports are called.
type called struct{ names []string }

func (c *called) Calling(e guest.Export, _, _ int32, _ *guest.Buffers) {
	c.names = append(c.names, e.String())
}
func (*called) Answered(guest.Export, int32, *guest.Buffers) {}
func (*called) Failed(*plugin.Fault)                         {}
func (*called) Did(*plugin.Deed)                             {}

// noting is a guest that says something of each token: n times in prepare, and once when it is told
// of it. It traps where that is not answered so.
func noting(n int, prepared, accepted string, answer int32) *asm.Guest {
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, prepared).Put(hosttest.AtScratch+1024, accepted)
	say := func(at, size int, answer int32) []byte {
		return slices.Concat(i32(at), i32(size), g.Call(abi.ImportNote), i32(int(answer)), asm.Equal, asm.EqualZero, asm.When(asm.Unreachable))
	}
	g.On(abi.ExportPrepare, slices.Concat(slices.Repeat(say(hosttest.AtScratch, len(prepared), abi.NoteOk), n)), i32(0))
	g.On(abi.ExportAccept, say(hosttest.AtScratch+1024, len(accepted), answer), i32(0))
	return g.On(abi.ExportOpen, say(hosttest.AtScratch, len(prepared), abi.NoteRefused), i32(0))
}

// A plugin's notes are in the trace of the token that they are about, and are bounded. Where nobody
// traces they are dropped.
func TestStage_Notes_AreInTheTrace(t *testing.T) {
	for name, c := range map[string]struct {
		times    int
		accepted string
		answer   int32
		want     []string
	}{
		"of two calls": {1, "banned", abi.NoteOk, []string{"likely", "banned"}},
		"too many":     {abi.LimitNotes, "banned", abi.NoteRefused, slices.Repeat([]string{"likely"}, abi.LimitNotes)},
		"too long":     {1, strings.Repeat("x", abi.LimitNoteBytes+1), abi.NoteRefused, []string{"likely"}},
		"no UTF-8":     {1, "\xff", abi.NoteRefused, []string{"likely"}},
	} {
		for _, traced := range []bool{true, false} {
			s := use(t, noting(c.times, "likely", c.accepted, c.answer), 1)
			ch := chain.New([]chain.Stage{s}, 100, 1)
			for token := range int32(3) {
				if _, err := s.Prepare(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var trace *chain.Trace
				if traced {
					trace = &chain.Trace{}
				}
				if _, err := ch.Accept(0, token+2, trace); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if trace == nil {
					continue
				}
				var got []string
				for _, n := range trace.Notes {
					got = append(got, n.Text)
					if n.By != "plugin:guest" {
						t.Errorf("%s: by %s", name, n.By)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, token %d: %q, want %q", name, token, got, c.want)
				}
			}
		}
	}
}

// What was said of a token that does not come is said of no other.
func TestStage_Notes_GoWithTheirToken(t *testing.T) {
	s := use(t, noting(1, "likely", "taken", abi.NoteOk), 1)
	c := chain.New([]chain.Stage{s}, 100, 1)
	must.Get(s.Prepare())(t)
	must.Do(t, s.Reset([]chain.Token{1}, 1))
	var trace chain.Trace
	if _, err := c.Accept(0, 2, &trace); err != nil || len(trace.Notes) != 1 || trace.Notes[0].Text != "taken" {
		t.Errorf("%v, %v", trace.Notes, err)
	}
}

// Lines that a plugin logs of a token are in its trace, too, and take no room from its notes.
func TestStage_Notes_HaveTheLog(t *testing.T) {
	long := strings.Repeat("x", abi.LimitNoteBytes) + "y"
	g := hosttest.Plain()
	g.Put(hosttest.AtScratch, long)
	line := slices.Concat(i32(abi.LogInfo), i32(hosttest.AtScratch), i32(len(long)), g.Call(abi.ImportLog))
	g.On(abi.ExportPrepare, slices.Concat(slices.Repeat(line, abi.LimitNotes+1)), i32(0))
	g.On(abi.ExportAccept, i32(hosttest.AtScratch), i32(3), g.Call(abi.ImportNote), asm.Drop, i32(0))
	s := use(t, g, 1)
	must.Get(s.Prepare())(t)
	var trace chain.Trace
	must.Get(chain.New([]chain.Stage{s}, 100, 1).Accept(0, 2, &trace))(t)
	var got []string
	for _, n := range trace.Notes {
		got = append(got, n.Text)
	}
	want := append([]string{"xxx"}, slices.Repeat([]string{long[:abi.LimitNoteBytes]}, abi.LimitNotes)...)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A plan without notes has none in the trace, also where the plugin's log is.
func TestStage_Notes_ThatAPlanDoesNotNeed(t *testing.T) {
	g := hosttest.Plain().Put(hosttest.AtScratch, "likely").Put(hosttest.AtScratch+1024, `{"needs":[]}`)
	g.On(abi.ExportPlan, i32(hosttest.AtScratch+1024), i32(12), g.Call(abi.ImportEmit), i32(0))
	g.On(abi.ExportPrepare, i32(abi.LogInfo), i32(hosttest.AtScratch), i32(6), g.Call(abi.ImportLog), i32(0))
	g.On(abi.ExportAccept, i32(hosttest.AtScratch), i32(3), g.Call(abi.ImportNote)) // which answers 0, as accept may
	p := must.Get(hosttest.Load(t, hosttest.Open(t, load.New), g).With(t.Context(), "", nil))(t)
	t.Cleanup(p.Release)
	s := must.Get(New(p, plugin.RequestInfo{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	must.Do(t, s.Reset([]chain.Token{1}, 1))
	must.Get(s.Prepare())(t)
	var trace chain.Trace
	if _, err := chain.New([]chain.Stage{s}, 100, 1).Accept(0, 2, &trace); err != nil || len(trace.Notes) != 1 || trace.Notes[0].Text != "likely" {
		t.Errorf("%v, %v", trace.Notes, err)
	}
}

// Stages and templates are refused alike; without a client, which is how the operator's own
// plugins come, never.
func TestStage_Quarantine_RefusesUntilReset(t *testing.T) {
	p := hosttest.Load(t, hosttest.Open(t, load.New), hosttest.Plain().On(abi.ExportPrepare, unreachable))
	bob := plugin.RequestInfo{Client: "bob"}
	for range 2 * abi.LimitFaults {
		for _, r := range []plugin.RequestInfo{bob, {}} {
			s, err := New(p, r)
			if errors.Is(err, plugin.ErrQuarantined) && r.Client != "" {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			must.Do(t, s.Reset([]int32{1}, 1))
			if _, err := s.Prepare(); err == nil {
				t.Error("no fault")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := New(p, bob); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
	if _, err := Render(t.Context(), p, nil, bob); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
	p.Reset()
	if h := p.Health(); h != (quarantine.Health{}) {
		t.Errorf("got %+v", h)
	}
	useOf(t, p, bob, 1)
}

// A real stage lays its faults to its request, and one that ends well clears it.
func TestStage_Faults_AreItsRequests(t *testing.T) {
	g := hosttest.Plain()
	g.On(abi.ExportAccept, local(0), when(unreachable), i32(0))
	m := hosttest.Load(t, hosttest.Open(t, load.New), g)
	use := func(token int32) error {
		s, err := New(m, plugin.RequestInfo{Client: "bob", Config: []byte("{}")})
		if err != nil {
			return err
		}
		must.Do(t, s.Reset([]int32{1}, 1))
		_, fault := s.Accept(token)
		must.Do(t, s.Close())
		return fault
	}
	faults := func(n int) {
		for range n {
			if err := use(1); errors.Is(err, plugin.ErrQuarantined) || err == nil {
				t.Fatalf("got %v, want a fault", err)
			}
		}
	}
	faults(abi.LimitFaults - 1)
	must.Do(t, use(0))
	faults(abi.LimitFaults)
	if err := use(0); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
}

// FuzzNew checks that no module takes the host down, whatever its bytes: what loads is run as a
// stage.
func FuzzNew(f *testing.F) {
	for _, g := range []*asm.Guest{hosttest.Plain(), hosttest.Warmed(), candidates(), counting(true), echoing(), accepting(splice(1, 2), i32(2))} {
		f.Add(g.Wasm())
	}
	r := hosttest.Open(f, load.New, func(o *plugin.HostOptions) { o.Limits.SetupFuel = 1 << 20 })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := r.Load(context.Background(), wasm)
		if err != nil {
			return
		}
		defer m.Release()
		s, err := New(m, plugin.RequestInfo{})
		if err != nil {
			return
		}
		if s.Reset([]int32{1, 2}, 1) == nil { // errors are the guest's, and fine
			_, _ = s.Prepare()
			_ = s.Apply(raw(ramp()))
			_, _ = s.Accept(3)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
