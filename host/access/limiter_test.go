// SPDX-License-Identifier: MIT

package access

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLimiter_Take_Requests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Requests: 6})
		for i := range 6 {
			s, ok := l.Take("a")
			want := Quota{Limit: 6, Remaining: 5 - i, Reset: time.Duration(10*(i+1)) * time.Second}
			if diff := cmp.Diff(want, s.Requests); !ok || diff != "" || s.Wait() != 0 {
				t.Errorf("request %d: %v %s", i, ok, diff)
			}
		}
		s, ok := l.Take("a")
		if ok || s.Wait() != 10*time.Second {
			t.Errorf("the seventh: %v, wait %v", ok, s.Wait())
		}
		if _, ok := l.Take("b"); !ok {
			t.Error("one client's requests count for another")
		}
		time.Sleep(s.Wait())
		if _, ok := l.Take("a"); !ok {
			t.Error("the wait was too short")
		}
		if _, ok := l.Take("a"); ok {
			t.Error("two requests in the time of one")
		}
	})
}

// What costs little counts a share of a request, and waits for no tokens.
func TestLimiter_TakeShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Requests: 2, Tokens: 10})
		l.Take("a")
		l.Charge("a", 1000)
		for i := range Shares {
			if s, ok := l.TakeShare("a"); !ok || s.Wait() != 0 || s.Requests.Limit != 2 || s.Requests.Remaining != 0 {
				t.Fatalf("share %d: %v %+v", i, ok, s)
			}
		}
		s, ok := l.TakeShare("a")
		if ok || s.Wait() != 30*time.Second/Shares {
			t.Errorf("beyond both requests: %v, wait %v", ok, s.Wait())
		}
		if _, ok := l.TakeShare("b"); !ok {
			t.Error("one client's shares count for another")
		}
		time.Sleep(s.Wait())
		if _, ok := l.TakeShare("a"); !ok {
			t.Error("the wait was too short")
		}
		none := NewLimiter(Limits{Tokens: 1})
		for range 1000 {
			if _, ok := none.TakeShare("a"); !ok {
				t.Fatal("there is no limit of requests")
			}
		}
	})
}

// Tokens are known late: a client may owe some, and waits until it does not.
func TestLimiter_Charge_TokensThatAreOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Tokens: 600})
		if s, ok := l.Take("a"); !ok || s.Tokens.Remaining != 600 || s.Requests.Limit != 0 {
			t.Errorf("%v %+v", ok, s)
		}
		l.Charge("a", 1800)
		s, ok := l.Take("a")
		if ok || s.Tokens.Remaining != 0 || s.Wait().Round(time.Millisecond) != 120*time.Second+100*time.Millisecond {
			t.Errorf("%v %+v, wait %v", ok, s, s.Wait())
		}
		time.Sleep(s.Wait() - time.Second)
		if _, ok := l.Take("a"); ok {
			t.Error("too early")
		}
		time.Sleep(2 * time.Second)
		if _, ok := l.Take("a"); !ok {
			t.Error("too late")
		}
	})
}

func TestLimiter_Clients_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(Limits{Requests: 1})
		for i := range maxClients {
			l.Take(fmt.Sprint(i))
		}
		l.Take("a")
		if len(l.clients) > maxClients {
			t.Errorf("%d clients are known", len(l.clients))
		}
		if _, ok := l.Take("a"); ok {
			t.Error("the newest was forgotten")
		}
		for i := 0; len(l.clients) < maxClients; i++ {
			l.Take(fmt.Sprint(i))
		}
		time.Sleep(2 * time.Minute)
		l.Take("b")
		if len(l.clients) != 1 {
			t.Errorf("%d clients are known after their buckets were full again", len(l.clients))
		}
	})
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "": "", "@": "@",
	} {
		if got := Address(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
