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
	kept := &budget{limit: 40, within: b}
	if (share{kept, "alice"}).Take(21) || !(share{kept, "alice"}).Take(20) || b.used.Load() != 20 {
		t.Errorf("of a part that has 40 alice gets more than half, or not half: %d", b.used.Load())
	}
	share{kept, "alice"}.Give(20)
	b.Take(90)
	if (share{kept, "alice"}).Take(20) || kept.used.Load() != 0 || b.used.Load() != 90 {
		t.Errorf("a part has more than there is: %d of it, %d in all", kept.used.Load(), b.used.Load())
	}
	b.Give(90)
	if !alice.Take(50) {
		t.Error("alice gets nothing when all is given back")
	}
}
