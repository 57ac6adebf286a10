// SPDX-License-Identifier: MIT

package access

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestCode_May(t *testing.T) {
	all, listed, modules := NewScriptAccess(false), NewScriptAccess(true), NewModuleAccess(true)
	for _, tc := range []struct {
		s    *Code
		key  Key
		want bool
	}{
		{nil, Key{Scripts: true}, false}, {all, Key{}, true}, {listed, Key{}, false}, {listed, Key{Admin: true}, false}, {listed, Key{Scripts: true}, true},
		{modules, Key{Scripts: true}, false}, {modules, Key{Modules: true}, true},
	} {
		if got := tc.s.May(tc.key); got != tc.want {
			t.Errorf("%v, %+v: %v", tc.s, tc.key, got)
		}
	}
}

// What a client has sent before costs nothing, also when its minute is used up, and what others
// send is theirs.
func TestCode_TakeNew_NewOnesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewScriptAccess(false)
		for i := range NewScripts {
			if wait := s.TakeNew("a", fmt.Sprint(i)); wait > 0 {
				t.Fatalf("script %d waits %v", i, wait)
			}
		}
		if wait := s.TakeNew("a", "one more"); wait <= 0 || wait > time.Second {
			t.Errorf("one more waits %v", wait)
		}
		if wait := s.TakeNew("a", "7"); wait > 0 {
			t.Errorf("a known one waits %v", wait)
		}
		if wait := s.TakeNew("b", "7"); wait > 0 {
			t.Errorf("another client waits %v", wait)
		}
		time.Sleep(time.Second)
		if wait := s.TakeNew("a", "one more"); wait > 0 {
			t.Errorf("after a second it waits %v", wait)
		}
	})
}

// Scripts without end take bounded memory: those that were not used longest are forgotten.
func TestCode_TakeNew_Forgets(t *testing.T) {
	s := NewScriptAccess(false)
	for i := range maxSeen + 10 {
		s.TakeNew(fmt.Sprint(i), "x")
		s.TakeNew("0", "x")
	}
	if len(s.seen) != maxSeen || s.order.Len() != maxSeen {
		t.Errorf("%d, %d are known", len(s.seen), s.order.Len())
	}
	for i := range NewScripts {
		s.TakeNew("0", fmt.Sprint("new ", i))
	}
	if wait := s.TakeNew("0", "x"); wait > 0 {
		t.Error("one in use was forgotten")
	}
}
