// SPDX-License-Identifier: MIT

package completion

import (
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
)

func TestTextPool_Deadline_WhileWaiting(t *testing.T) {
	d := newTextPool()
	for range cap(d.short) {
		d.short <- struct{}{}
	}
	_, err := inPool(t.Context(), d, time.Now().Add(time.Millisecond), 1, func() (int, error) { return 1, nil }, nil)
	if !errors.Is(err, scheduler.ErrDeadline) {
		t.Errorf("got %v, want ErrDeadline", err)
	}
}
