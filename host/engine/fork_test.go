// SPDX-License-Identifier: MIT

package engine

import (
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// computed counts the tokens of prompts and of answers that passes have computed.
func computed(t testing.TB, s *scheduler.Scheduler) (prefill, decode int) {
	t.Helper()
	snap, err := s.Inspect(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range snap.Ticks {
		prefill, decode = prefill+r.Prefill, decode+r.Decode
	}
	return prefill, decode
}
