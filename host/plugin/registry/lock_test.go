// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
)

func sum(wasm []byte) string {
	hash := sha256.Sum256(wasm)
	return hex.EncodeToString(hash[:])
}

func lockOf(t *testing.T, entries ...string) plugin.Lock {
	t.Helper()
	lock, err := plugin.NewLock(entries)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// With a lock nothing else is loaded: not from the folder, not in the place of what is there, and
// not by upload.
func TestRegistry_Lock_AllowsNothingElse(t *testing.T) {
	dir := t.TempDir()
	one, two, other := named("a", "1"), named("a", "2"), named("b", "1")
	place(t, dir, "a.wasm", one)
	place(t, dir, "b.wasm", other)
	g := openLocked(t, dir, lockOf(t, plugin.LockEntry("a", sum(one)), plugin.LockEntry("a", sum(two)), plugin.LockEntry("c", sum(other))))
	if got := summary(g); got != "a 1 ready, b failed" {
		t.Errorf("%s", got)
	}
	if _, err := g.Find(t.Context(), "b"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("b can be used: %v", err)
	}
	place(t, dir, "a.wasm", named("a", "3"))
	scan(t, g)
	if got := summary(g); got != "a 1 ready, b failed" {
		t.Errorf("a new file in the place of a: %s", got)
	}
	place(t, dir, "a.wasm", two)
	scan(t, g)
	if got := summary(g); got != "a 2 ready, b failed" {
		t.Errorf("the other version that is allowed: %s", got)
	}
	for name, tc := range map[string]struct {
		wasm []byte
		says string
	}{
		"unknown":            {named("a", "4"), "add NAME@sha256:" + sum(named("a", "4"))},
		"under another name": {other, "the entry would be b@sha256:" + sum(other)},
	} {
		for _, upload := range []func(context.Context, []byte) (Info, bool, error){g.Upload, g.Try} {
			if _, _, err := upload(t.Context(), tc.wasm); !errors.Is(err, plugin.ErrLocked) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, _, err := g.Upload(t.Context(), one); err != nil {
		t.Errorf("what is allowed: %v", err)
	}
}
