// SPDX-License-Identifier: MIT

package access

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys_Find(t *testing.T) {
	k := NewKeys([]Secret{{Name: "alice", Key: "one"}, {Key: "two"}, {Key: "both"}}, "both", []string{"two", "three"})
	for secret, want := range map[string]*Key{
		"one": {Name: "alice", Client: true}, "two": {Name: "key-2", Client: true, Priority: true}, "both": {Name: "admin", Client: true, Admin: true},
		"three": {Name: "priority-2", Priority: true}, "": nil, "on": nil, "onetwo": nil, "alice": nil,
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
	if !k.Closed() || NewKeys(nil, "both", []string{"two"}).Closed() {
		t.Error("it is not known whether clients need a key")
	}
	if !k.HasAdmin() || NewKeys([]Secret{{Key: "one"}}, "", nil).HasAdmin() {
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
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
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
