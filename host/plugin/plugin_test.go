// SPDX-License-Identifier: MIT

package plugin

import (
	"testing"
	"time"
)

// The guests of a choice have one time for all their set-up.
func TestSetup_Deadline_IsShared(t *testing.T) {
	var s Setup
	first := s.Deadline(time.Minute)
	if second := s.Deadline(time.Hour); !second.Equal(first) {
		t.Errorf("until %v, then %v", first, second)
	}
	var none *Setup
	if until := none.Deadline(time.Hour); time.Until(until) < time.Minute {
		t.Errorf("without one until %v", until)
	}
}
