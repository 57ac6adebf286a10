// SPDX-License-Identifier: MIT

package ring

import (
	"errors"
	"testing"
)

// A ring that need not keep what was read any more gives its memory back, loses nothing that is
// unread, and grows no more.
func TestRing_Forget(t *testing.T) {
	for _, unread := range []int{0, 3, 50} {
		r := New[int](8, nil)
		r.Keep()
		for i := range 1000 {
			r.Push(i)
		}
		for range 1000 - unread {
			r.TryNext()
		}
		r.Forget()
		if n := len(r.items); n != max(8, unread) {
			t.Errorf("%d unread: %d places", unread, n)
		}
		if err := r.Seek(0); !errors.Is(err, ErrGone) {
			t.Errorf("%d unread: what was read: %v", unread, err)
		}
		for i := 1000 - unread; i < 5000; i++ {
			if i >= 1000 {
				r.Push(i)
			}
			if got, index, ok := r.TryNext(); !ok || got != i || index != uint64(i) {
				t.Fatalf("%d unread: got %d, %d, %v, want %d", unread, got, index, ok, i)
			}
		}
		if n := len(r.items); n != max(8, unread) {
			t.Errorf("%d unread: %d places later", unread, n)
		}
	}
}
