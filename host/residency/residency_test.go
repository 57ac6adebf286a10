// SPDX-License-Identifier: MIT

package residency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a loaded model.
type fake struct {
	name   string
	of     *fakes
	closed bool
}

// fakes loads models that take a second, and notes what happens.
type fakes struct {
	mu     sync.Mutex
	events []string
	open   []string
	slow   time.Duration // that closing takes
}

func (f *fakes) note(format string, args ...any) {
	f.events = append(f.events, fmt.Sprintf(format, args...))
}

// load fails for names that begin with bad.
func (f *fakes) load(ctx context.Context, name string) (*fake, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(name, "bad") {
		f.note("fail %s", name)
		return nil, errors.New("it is broken")
	}
	f.note("load %s", name)
	f.open = append(f.open, name)
	return &fake{name: name, of: f}, nil
}

func (m *fake) Close() error {
	time.Sleep(m.of.slow)
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.closed = true
	m.of.note("unload %s", m.name)
	m.of.open = slices.DeleteFunc(m.of.open, func(n string) bool { return n == m.name })
	return nil
}

func (f *fakes) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// with runs a test with a set of fakes in a bubble, and closes the set.
func with(t *testing.T, o Options[*fake], test func(t *testing.T, s *Set[*fake], f *fakes)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{}
		o.Load, o.Log = f.load, slog.New(slog.DiscardHandler)
		if o.Need == nil {
			o.Need = func(context.Context, string) uint64 { return 10 }
		}
		if o.Available == nil {
			o.Available = func() uint64 { return 0 }
		}
		s := New(o)
		test(t, s, f)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(f.open) > 0 {
			t.Errorf("after Close there are %v", f.open)
		}
	})
}

// use uses a model until the test says otherwise.
func use(t *testing.T, s *Set[*fake], name string) (release func()) {
	t.Helper()
	m, release := must.Both(s.Use(t.Context(), name))(t)
	if m.name != name || m.closed {
		t.Fatalf("got %+v for %s", m, name)
	}
	return release
}

func expect(t *testing.T, f *fakes, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, f.seen()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A list of the present models includes those that are loading, and reading it changes nothing.
func TestSet_Present_LoadedAndLoading(t *testing.T) {
	with(t, Options[*fake]{Idle: time.Minute}, func(t *testing.T, s *Set[*fake], f *fakes) {
		use(t, s, "b")()
		for range 3 {
			go func() {
				if _, release, err := s.Use(t.Context(), "a"); err == nil {
					release()
				}
			}()
		}
		synctest.Wait()
		got := s.Present()
		if len(got) != 2 || got[0].Name != "a" || got[0].State != Loading || got[0].Waiting != 3 || got[0].Loaded != nil ||
			got[1].Name != "b" || got[1].State != Loaded || got[1].Loaded.name != "b" {
			t.Errorf("%+v", got)
		}
		for range 120 {
			time.Sleep(time.Second)
			s.Present()
		}
		if got := s.Present(); len(got) != 0 {
			t.Errorf("kept by being asked for: %+v", got)
		}
		expect(t, f, "load b", "load a", "unload b", "unload a")
	})
}

func TestSet_Use_ManyAtOnce_LoadsOnce(t *testing.T) {
	with(t, Options[*fake]{}, func(t *testing.T, s *Set[*fake], f *fakes) {
		var users sync.WaitGroup
		for range 20 {
			users.Go(func() { use(t, s, "a")() })
		}
		synctest.Wait()
		if got := s.Status("a"); got.State != Loading {
			t.Errorf("while it loads: %+v", got)
		}
		users.Wait()
		expect(t, f, "load a")
		if got := s.Status("a"); got.State != Loaded || got.Users != 0 {
			t.Errorf("then: %+v", got)
		}
		if got := s.Status("b"); got.State != Unloaded {
			t.Errorf("another: %+v", got)
		}
	})
}

func TestSet_Most_UnloadsTheLeastRecentlyUsed(t *testing.T) {
	with(t, Options[*fake]{Most: 2}, func(t *testing.T, s *Set[*fake], f *fakes) {
		for _, name := range []string{"a", "b", "a", "c", "b"} {
			use(t, s, name)()
			time.Sleep(time.Second)
		}
		expect(t, f, "load a", "load b", "unload b", "load c", "unload a", "load b")
		if all := s.All(); len(all) != 2 || all[0].name != "b" || all[1].name != "c" {
			t.Errorf("loaded are %v", all)
		}
	})
}

func TestSet_InUse_IsNeverUnloaded(t *testing.T) {
	with(t, Options[*fake]{Most: 1, Wait: time.Minute}, func(t *testing.T, s *Set[*fake], f *fakes) {
		release := use(t, s, "a")
		if _, _, err := s.Use(t.Context(), "b"); !errors.Is(err, ErrBusy) {
			t.Errorf("with the only place in use: %v", err)
		}
		if err := s.Unload("a"); !errors.Is(err, ErrInUse) {
			t.Errorf("Unload: %v", err)
		}
		var users sync.WaitGroup
		users.Go(func() { use(t, s, "b")() })
		time.Sleep(10 * time.Second)
		expect(t, f, "load a")
		release()
		release() // the second time does nothing
		users.Wait()
		expect(t, f, "unload a", "load b")
		if err := s.Unload("b"); err != nil {
			t.Error(err)
		}
		expect(t, f, "unload b")
	})
}

func TestSet_Memory_MakesRoom(t *testing.T) {
	available := uint64(1000)
	need := map[string]uint64{"a": 30, "b": 30, "c": 50, "huge": 500}
	with(t, Options[*fake]{Budget: 100, Need: func(_ context.Context, n string) uint64 { return need[n] }, Available: func() uint64 { return available }},
		func(t *testing.T, s *Set[*fake], f *fakes) {
			use(t, s, "a")()
			time.Sleep(time.Second)
			use(t, s, "b")()
			use(t, s, "c")()
			expect(t, f, "load a", "load b", "unload a", "load c")
			available = 10
			use(t, s, "a")()
			expect(t, f, "unload b", "unload c", "load a")
			use(t, s, "huge")()
			expect(t, f, "unload a", "load huge")
		})
}

func TestSet_Kept_StaysAndLeavesNoRoom(t *testing.T) {
	with(t, Options[*fake]{Most: 1, Idle: time.Minute, Keeps: func(n string) bool { return n == "a" }}, func(t *testing.T, s *Set[*fake], f *fakes) {
		use(t, s, "a")()
		if _, _, err := s.Use(t.Context(), "b"); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "models.max") {
			t.Errorf("beside one that stays: %v", err)
		}
		time.Sleep(time.Hour)
		expect(t, f, "load a")
	})
}

func TestSet_Idle_Unloads(t *testing.T) {
	with(t, Options[*fake]{Idle: time.Minute}, func(t *testing.T, s *Set[*fake], f *fakes) {
		use(t, s, "a")()
		time.Sleep(50 * time.Second)
		release := use(t, s, "a")
		time.Sleep(time.Hour)
		expect(t, f, "load a")
		release()
		time.Sleep(59 * time.Second)
		expect(t, f)
		time.Sleep(2 * time.Second)
		expect(t, f, "unload a")
		use(t, s, "a")()
		expect(t, f, "load a")
	})
}

// A model that leaves for no other may leave when it is idle, after a time of its own, and comes
// back with the next request.
func TestSet_KeptIdle_Unloads(t *testing.T) {
	with(t, Options[*fake]{Most: 1, Idle: time.Second, KeptIdle: time.Minute, Keeps: func(n string) bool { return n == "a" }}, func(t *testing.T, s *Set[*fake], f *fakes) {
		use(t, s, "a")()
		time.Sleep(59 * time.Second)
		if _, _, err := s.Use(t.Context(), "b"); !errors.Is(err, ErrNoRoom) {
			t.Errorf("beside one that leaves for no other: %v", err)
		}
		expect(t, f, "load a")
		time.Sleep(2 * time.Second)
		expect(t, f, "unload a")
		time.Sleep(failurePause)
		use(t, s, "b")()
		time.Sleep(2 * time.Second)
		release := use(t, s, "a")
		time.Sleep(time.Hour)
		expect(t, f, "load b", "unload b", "load a")
		release()
		time.Sleep(61 * time.Second)
		expect(t, f, "unload a")
	})
}

// A model that is being unloaded takes its place until it is closed, and no other has to go for it.
func TestSet_Idle_ClosesSlowly(t *testing.T) {
	with(t, Options[*fake]{Idle: time.Minute, Most: 2}, func(t *testing.T, s *Set[*fake], f *fakes) {
		f.slow = 10 * time.Second
		use(t, s, "a")()
		time.Sleep(30 * time.Second)
		use(t, s, "b")()
		time.Sleep(31 * time.Second) // a is idle, and half-closed
		use(t, s, "c")()
		use(t, s, "b")()
		expect(t, f, "load a", "load b", "unload a", "load c")
		if err := s.Unload("b"); err != nil {
			t.Error(err)
		}
		use(t, s, "d")()
		expect(t, f, "unload b", "load d")
	})
}

func TestSet_Broken_IsRememberedForAWhile(t *testing.T) {
	with(t, Options[*fake]{}, func(t *testing.T, s *Set[*fake], f *fakes) {
		release := use(t, s, "a")
		defer release()
		for range 3 {
			if _, _, err := s.Use(t.Context(), "bad"); err == nil || err.Error() != "it is broken" {
				t.Errorf("got %v", err)
			}
		}
		expect(t, f, "load a", "fail bad")
		if got := s.Status("bad"); got.State != Unloaded || got.Err == nil {
			t.Errorf("status %+v", got)
		}
		time.Sleep(failurePause)
		if _, _, err := s.Use(t.Context(), "bad"); err == nil {
			t.Error("it loaded")
		}
		expect(t, f, "fail bad")
	})
}

func TestSet_Waiting_IsBoundedAndEnds(t *testing.T) {
	with(t, Options[*fake]{Queue: 2}, func(t *testing.T, s *Set[*fake], f *fakes) {
		var users sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			users.Go(func() { use(t, s, name)() })
		}
		synctest.Wait()
		if _, _, err := s.Use(t.Context(), "c"); !errors.Is(err, ErrQueue) {
			t.Errorf("the third: %v", err)
		}
		users.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, _, err := s.Use(ctx, "d"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that has gone: %v", err)
		}
		use(t, s, "d")()
		time.Sleep(time.Minute)
		for _, name := range []string{"a", "b", "c", "d"} {
			want := map[string]int{"a": 1, "b": 1, "c": 0, "d": 1}[name]
			if n := strings.Count(strings.Join(f.events, " "), "load "+name); n != want {
				t.Errorf("%s was loaded %d times", name, n)
			}
		}
	})
}

func TestSet_Close_EndsLoading(t *testing.T) {
	with(t, Options[*fake]{}, func(t *testing.T, s *Set[*fake], f *fakes) {
		use(t, s, "a")()
		var users sync.WaitGroup
		for _, name := range []string{"b", "c"} {
			users.Go(func() {
				if _, _, err := s.Use(t.Context(), name); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		synctest.Wait()
		s.Stop()
		users.Wait()
		if _, _, err := s.Use(t.Context(), "d"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Stop: %v", err)
		}
		use(t, s, "a")() // what is loaded goes on
	})
}

// TestSet_Hammer: whatever many requests ask for, no model is closed while it is used, and never
// are more loaded than allowed.
func TestSet_Hammer(t *testing.T) {
	with(t, Options[*fake]{Most: 3, Idle: 5 * time.Second, Wait: time.Hour}, func(t *testing.T, s *Set[*fake], f *fakes) {
		var users sync.WaitGroup
		for i := range 50 {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			users.Go(func() {
				for range 20 {
					name := []string{"a", "b", "c", "d", "e", "bad"}[rng.IntN(6)]
					m, release, err := s.Use(t.Context(), name)
					if err != nil {
						if name != "bad" {
							t.Errorf("%s: %v", name, err)
						}
						continue
					}
					time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
					f.mu.Lock()
					if m.closed || m.name != name || len(f.open) > 3 {
						t.Errorf("%s: %+v, and %v are loaded", name, m, f.open)
					}
					f.mu.Unlock()
					release()
					time.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond)
				}
			})
		}
		users.Wait()
	})
}

// TestSet_Hold_IsNoUse: who looks at a model again and again neither loads it, nor keeps it from
// being idle, nor has others leave in its place; while somebody looks, it stays.
func TestSet_Hold_IsNoUse(t *testing.T) {
	with(t, Options[*fake]{Idle: time.Minute, Most: 2}, func(t *testing.T, s *Set[*fake], f *fakes) {
		if _, _, ok := s.Hold("a"); ok || len(s.Present()) > 0 {
			t.Error("a model that is not loaded")
		}
		use(t, s, "a")()
		time.Sleep(time.Second)
		use(t, s, "b")()
		time.Sleep(time.Second)
		m, look, ok := s.Hold("a")
		if !ok || m.name != "a" {
			t.Fatalf("%v %+v", ok, m)
		}
		if err := s.Unload("a"); !errors.Is(err, ErrInUse) {
			t.Errorf("while it is looked at: %v", err)
		}
		look()
		look()
		use(t, s, "c")()
		expect(t, f, "load a", "load b", "unload a", "load c")
		for range 59 {
			_, look, ok := s.Hold("c")
			if !ok {
				t.Fatal("c is gone")
			}
			time.Sleep(time.Second)
			look()
		}
		expect(t, f, "unload b")
		_, look, _ = s.Hold("c")
		time.Sleep(time.Minute)
		expect(t, f)
		look()
		expect(t, f, "unload c")
	})
}

// A rest comes once after the last request and after an unloading, not between requests, and not
// for a closed set.
func TestSet_Rest(t *testing.T) {
	rests := 0
	o := Options[*fake]{Rest: func() { rests++ }}
	with(t, o, func(t *testing.T, s *Set[*fake], _ *fakes) {
		after := func(pause time.Duration, want int) {
			t.Helper()
			time.Sleep(pause)
			synctest.Wait()
			if rests != want {
				t.Errorf("%d rests, want %d", rests, want)
			}
		}
		release := use(t, s, "a")
		after(time.Hour, 0)
		release()
		after(restAfter/2, 0)
		release = use(t, s, "a")
		after(time.Hour, 0)
		release()
		after(time.Hour, 1)
		must.Do(t, s.Unload("a"))
		after(time.Hour, 2)
		use(t, s, "b")()
		s.Stop()
		after(time.Hour, 2)
	})
}
