// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/must"
)

// sliceCount is how many guests may compute at a time.
func sliceCount() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// occupy takes all time slices.
func occupy(t *testing.T, h *Environment) (give []func()) {
	t.Helper()
	for range sliceCount() {
		end := must.Get(h.timeSlices.Take(t.Context(), "others"))(t)
		give = append(give, end)
	}
	return give
}

// Who waits for a turn is woken too.
func TestInstance_Call_Over_EndsTheWait(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)))
	others := occupy(t, h)
	s, opened := openLater(t, m)
	s.interrupt()
	if err := <-opened; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	for _, give := range others {
		give()
	}
}

// Guests that are set up take turns: a short one is through while long ones go on.
func TestInstance_Call_SetupTakesTurns(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	long := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, forever))
	var users []*user
	var ends []<-chan error
	for range 2*sliceCount() + 1 {
		s, opened := openLater(t, long)
		users, ends = append(users, s), append(ends, opened)
	}
	_, opened := openLater(t, mustLoad(t, h, asm.New(`{"name":"short"}`).On(abi.ExportOpen, i32c(0))))
	if err := <-opened; err != nil {
		t.Error(err)
	}
	for i, s := range users {
		s.interrupt()
		if err := <-ends[i]; !errors.Is(err, plugin.CauseCancelled) {
			t.Errorf("error %v", err)
		}
	}
	if n := h.timeSlices.Taken(); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}

// ended notes the calls of open that end, by plugin.
type ended struct {
	mu   sync.Mutex
	list []string
}

func (e *ended) PluginCalls(name, export string) func(time.Duration) {
	return func(time.Duration) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if export == abi.ExportOpen {
			e.list = append(e.list, name)
		}
	}
}

func (*ended) PluginFault(string, string) {}

// Clients take turns: one who has many guests set up holds up nobody else by their number.
func TestInstance_Call_ClientsTakeTurns(t *testing.T) {
	calls := &ended{}
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Observer = calls })
	h.timeSlices = turns.NewPermits(1)
	others := h.timeSlices.Ask("others")
	var group sync.WaitGroup
	open := func(client string) {
		m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)))
		m.Name = client
		u := begin(t, m, plugin.RequestInfo{Client: client}, 1)
		waiting := h.timeSlices.Waiting()
		group.Go(func() {
			if err := u.open(); err != nil {
				t.Error(err)
			}
		})
		for h.timeSlices.Waiting() == waiting {
			runtime.Gosched()
		}
	}
	for range 10 {
		open("mallory")
	}
	open("alice")
	others.End()
	group.Wait()
	if at := slices.Index(calls.list, "alice"); at < 0 || at > 3 {
		t.Errorf("alice is at %d of %q", at, calls.list)
	}
}

// Time that passes while others have their turns says nothing against a plugin.
func TestInstance_Call_WaitingIsNoFault(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)))
	h.Limits.SetupTime = 20 * time.Millisecond
	others := occupy(t, h)
	_, opened := openLater(t, m)
	var fault *plugin.Fault
	if err := <-opened; !errors.Is(err, plugin.CauseBusy) || !errors.As(err, &fault) || !fault.Blameless() {
		t.Errorf("error %v", err)
	}
	for _, give := range others {
		give()
	}
}

// A call that takes long needs a turn, whatever it is for.
func TestInstance_Call_LongOnesTakeTurns(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.HookTime = 10 * time.Second })
	s := useOf(t, mustLoad(t, h, hosttest.Plain().On(abi.ExportPrepare, forever)), plugin.RequestInfo{}, 1)
	others := occupy(t, h)
	ended := make(chan error, 1)
	go func() {
		_, err := s.prepare()
		ended <- err
	}()
	others[0]() // once it is given away again, it is the guest that has it
	for h.timeSlices.Taken() < sliceCount() {
		select {
		case err := <-ended:
			t.Fatalf("it ended without a turn: %v", err)
		default:
			runtime.Gosched()
		}
	}
	s.interrupt()
	if err := <-ended; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if n := h.timeSlices.Taken(); n != sliceCount()-1 {
		t.Errorf("%d turns are taken, not %d", n, sliceCount()-1)
	}
	for _, give := range others[1:] {
		give()
	}
}

// Close is called because the request is over: that does not end it, whether it waits for a turn
// or has taken long.
func TestInstance_Close_IsNotInterrupted(t *testing.T) {
	for _, taken := range []bool{false, true} {
		h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.HookTime = 200 * time.Millisecond })
		m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)).On(abi.ExportClose, forever))
		faults := 0
		m.Faulted = func(*plugin.Fault, *plugin.RequestInfo) { faults++ }
		s, opened := openLater(t, m)
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
		var others []func()
		if taken {
			others = occupy(t, h)
		}
		s.interrupt()
		if err := s.Close(true); err != nil {
			t.Error(err)
		}
		if faults != 1 {
			t.Errorf("it did not end by the clock: %d faults", faults)
		}
		for _, give := range others {
			give()
		}
	}
}

func TestInstance_Call_IsEndedByTheClock(t *testing.T) {
	s := use(t, hosttest.Plain(), 1)
	s.module.Env.Limits.HookTime = time.Millisecond
	s.module.Env.Limits.HookFuel = 1 << 45
	g := useOf(t, mustLoad(t, s.module.Env, hosttest.Plain().On(abi.ExportPrepare, forever)), plugin.RequestInfo{}, 1)
	if _, err := g.prepare(); !errors.Is(err, plugin.CauseTime) {
		t.Errorf("error %v", err)
	}
}

// A call that waits for others, or whose processor the machine gives to another program, loses none
// of its time; only what it computes itself can end it.
func TestInstance_Pause_WaitsDoNotCount(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	past := func(idle time.Duration) *Instance {
		at := time.Now()
		return &Instance{module: &Module{Env: h}, session: &Session{}, running: Run, started: at.Add(-time.Hour), yieldedAt: at.Add(-idle), deadline: at.Add(-time.Second)}
	}
	idle := past(time.Hour)
	if err := idle.pause(); err != nil {
		t.Errorf("where the machine did something else: %v", err)
	}
	idle.giveSlice()
	var v *Violation
	if err := past(0).pause(); !errors.As(err, &v) || !errors.Is(v.cause, plugin.CauseTime) {
		t.Errorf("where it computed: %v", err)
	}

	others := occupy(t, h)
	late, came := past(0), make(chan error, 1)
	go func() {
		if v := late.takeSlice(); v != nil {
			came <- v
		}
		close(came)
	}()
	for h.timeSlices.Waiting() == 0 {
		select {
		case err := <-came:
			t.Fatalf("it does not wait for its time slice: %v", err)
		default:
			runtime.Gosched()
		}
	}
	for _, give := range others {
		give()
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
	late.giveSlice()
}

// A plan's time is what it computes: neither the waits for its time slices nor the rests between
// them count.
func TestInstance_Pause_PlansHaveTimeOfTheirOwn(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.PlanTime = time.Hour })
	for _, tc := range []struct {
		waited, rested time.Duration
		want           error
	}{{0, 0, plugin.CauseTime}, {2 * time.Hour, 0, nil}, {0, 2 * time.Hour, nil}, {time.Hour, time.Hour, nil}} {
		s := &Session{}
		i := &Instance{module: &Module{Env: h}, session: s, running: Plan, started: time.Now().Add(-150 * time.Minute), yieldedAt: time.Now(), waited: tc.waited, rested: tc.rested}
		i.deadline = time.Now().Add(time.Hour)
		var cause error
		var v *Violation
		if err := i.pause(); errors.As(err, &v) {
			cause = v.cause
		}
		if !errors.Is(cause, tc.want) {
			t.Errorf("%+v: %v", tc, v)
		}
		i.giveSlice()
	}
}

// A program that waits for the model holds no turn, however long it computed before: where there
// is one for all guests, as on two processors, others are set up meanwhile.
func TestInstance_RunProgram_WaitsWithoutATurn(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.ProgramFuel = 1 << 45 })
	h.timeSlices = turns.NewPermits(1)
	g := asm.New(`{"name":"waits","branches":1}`)
	g.On(abi.ExportRun, asm.Each(1, i32c(20_000_000), []byte{0x01}), // some milliseconds: it needs a turn
		i32c(0), i32c(0), i32c(0), i32c(0), g.Call(abi.ImportBranchesWait), drop, i32c(0))
	u := begin(t, mustLoad(t, h, g), plugin.RequestInfo{}, 1)
	ended := make(chan error, 1)
	p := &program.Program{Branches: 1, Main: func(r *program.Run) error {
		err := u.RunProgram(r)
		ended <- err
		return err
	}}
	r := program.New(p, program.Options{Prompt: []program.Token{1}, Vocabulary: 100, Longest: 100, Tokens: 100, Wake: func() {}})
	r.Start()
	go r.Main()
	<-r.Done() // it waits
	r.Collect()
	if n := h.timeSlices.Taken(); n != 0 {
		t.Errorf("%d turns are taken", n)
	}
	_, opened := openLater(t, mustLoad(t, h, asm.New(`{"name":"short"}`).On(abi.ExportOpen, i32c(0))))
	if err := <-opened; err != nil {
		t.Error(err)
	}
	u.interrupt()
	r.Interrupt()
	if err := <-ended; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if n := h.timeSlices.Taken(); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}
