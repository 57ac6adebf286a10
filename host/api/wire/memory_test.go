// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/tools/must"
)

// have reads n bytes that count, for a caller. release is nil where they were refused, and then
// nothing is left of them.
func have(t *testing.T, m *Memory, caller string, n int) (release func()) {
	t.Helper()
	b := m.Claim(func() string { return caller }).Body(strings.NewReader(strings.Repeat("x", uncounted+n)))
	_, err := io.Copy(io.Discard, b)
	if err == nil {
		return b.Release
	}
	var refused *refusal.Error
	if !errors.As(err, &refused) || StatusOf(refused) != http.StatusServiceUnavailable || refused.Code != "bodies_too_large" {
		t.Errorf("refused with %v", err)
	}
	b.Release()
	return nil
}

// A caller has half of what the others leave, and one body at least.
func TestMemory_Shares(t *testing.T) {
	const limit, largest = 1 << 20, 100 << 10
	m := NewMemory(limit, largest)
	var releases []func()
	for _, tc := range []struct {
		caller string
		n      int
		want   bool
	}{
		{"a", limit / 2, true}, {"a", 1, false}, {"b", limit/4 + 1, false}, {"b", limit / 4, true}, {"b", 1, false},
		{"c", largest, true}, // of 256 KiB; half of it would be more
		{"d", largest, true}, // of 156 KiB
		{"e", 56 << 10, true}, {"e", 1, false}, {"f", 1, false}, {"f", 0, true},
	} {
		release := have(t, m, tc.caller, tc.n)
		if (release != nil) != tc.want {
			t.Errorf("%d bytes for %s: %t", tc.n, tc.caller, release != nil)
		}
		if release != nil {
			releases = append(releases, release)
		}
	}
	for _, release := range releases {
		release()
	}
	if have(t, m, "g", limit/2) == nil {
		t.Error("what was released is not free")
	}
}

// All frames of a connection have the free bytes together.
func TestClaim_Body_CountsTogether(t *testing.T) {
	m := NewMemory(1<<20, 1<<20)
	c := m.Claim(func() string { return "a" })
	var releases []func()
	for range 3 {
		b := c.Body(strings.NewReader(strings.Repeat("x", uncounted)))
		must.Get(io.Copy(io.Discard, b))(t)
		releases = append(releases, b.Release)
	}
	for i, want := range []int64{2 * uncounted, uncounted, 0} {
		if c.used != want {
			t.Errorf("%d frames have %d bytes, want %d", 3-i, c.used, want)
		}
		releases[i]()
	}
	if c.used != 0 {
		t.Errorf("%d bytes are left", c.used)
	}
}

func TestNewMemory_AnyNumber(t *testing.T) {
	if have(t, NewMemory(0, 1), "a", 1<<20) == nil {
		t.Error("refused")
	}
}
