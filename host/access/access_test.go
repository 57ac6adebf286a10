// SPDX-License-Identifier: MIT

package access

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestKeys_Find(t *testing.T) {
	k := NewKeys([]Secret{{Name: "alice", Key: "one"}, {Key: "two"}, {Key: "both"}}, "both", Listed{Priority: []string{"two", "three"}, Scripts: []string{"two", "four"}, Modules: []string{"two", "five"}})
	for secret, want := range map[string]*Key{
		"one": {Name: "alice", Client: true}, "two": {Name: "key-2", Client: true, Priority: true, Scripts: true, Modules: true}, "both": {Name: "admin", Client: true, Admin: true},
		"three": {Name: "priority-2", Priority: true}, "four": {Name: "script-2", Scripts: true}, "five": {Name: "module-2", Modules: true}, "": nil, "on": nil, "onetwo": nil, "alice": nil,
	} {
		got, ok := k.Find(secret)
		if ok != (want != nil) {
			t.Errorf("%q: found %v", secret, ok)
		}
		if want != nil {
			want.Digest = digestOf(secret)
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%q: %s", secret, diff)
			}
		}
	}
	if !k.Closed() || NewKeys(nil, "both", Listed{Priority: []string{"two"}}).Closed() {
		t.Error("it is not known whether clients need a key")
	}
	if !k.HasAdmin() || NewKeys([]Secret{{Key: "one"}}, "", Listed{}).HasAdmin() {
		t.Error("the admin key is not known")
	}
}

func TestReadKeyFile(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []Secret
		err  string
	}{
		"keys":       {"# of the team\none alice\r\n\n  two\t\n", []Secret{{"alice", "one"}, {"", "two"}}, ""},
		"mark":       {"\ufeffone alice\n\ufefftwo\n", []Secret{{"alice", "one"}, {"", "two"}}, ""},
		"mark, none": {"\ufeff# one\n", nil, "has none"},
		"UTF-16":     {"\xff\xfeo\x00n\x00e\x00", nil, "UTF-8"},
		"zero bytes": {"o\x00n\x00e\x00", nil, "UTF-8"},
		"none":       {"# one\n", nil, "has none"},
		"words":      {"one\ntwo of three", nil, "line 2"},
		"same key":   {"one a\none b", nil, "line 2"},
		"same name":  {"one a\ntwo a", nil, "line 2"},
		"empty file": {"", nil, "has none"},
	} {
		path := filepath.Join(t.TempDir(), "keys")
		must.Do(t, os.WriteFile(path, []byte(tc.text), 0o600))
		got, err := ReadKeyFile(path)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if err != nil && (strings.Contains(err.Error(), "one ") || strings.Contains(err.Error(), "two ")) {
			t.Errorf("%s: the error shows a key: %v", name, err)
		}
	}
	if _, err := ReadKeyFile(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a missing file was read")
	}
}

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
