// SPDX-License-Identifier: MIT

package guest

import "testing"

// A client may have half of what others leave, whatever it has taken before, and what it gives back
// is there again.
func TestShare_Take_LeavesRoom(t *testing.T) {
	b := &budget{limit: 100}
	mallory, alice := share{b, "mallory"}, share{b, "alice"}
	for _, tc := range []struct {
		of    share
		bytes uint64
		want  bool
	}{
		{mallory, 51, false}, {mallory, 30, true}, {mallory, 20, true}, {mallory, 1, false},
		{alice, 26, false}, {alice, 25, true}, {mallory, 1, false},
	} {
		if got := tc.of.Take(tc.bytes); got != tc.want {
			t.Errorf("%s takes %d: %v", tc.of.client, tc.bytes, got)
		}
	}
	if !b.Take(25) || b.Take(1) {
		t.Error("what does not count by client has another limit than all together")
	}
	b.Give(25)
	mallory.Give(50)
	alice.Give(25)
	if b.used.Load() != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes are left, of %v", b.used.Load(), b.of)
	}
	if !alice.Take(50) {
		t.Error("alice gets nothing when all is given back")
	}
}
