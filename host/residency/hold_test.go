// SPDX-License-Identifier: MIT

package residency

import (
	"errors"
	"testing"
	"time"
)

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
