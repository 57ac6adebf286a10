// SPDX-License-Identifier: MIT

package plugin

import (
	"strings"
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

func TestNewLock_Entries(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for entry, ok := range map[string]bool{
		"a@sha256:" + sum:                  true,
		"banned-phrases_1.0@sha256:" + sum: true,
		"a@sha256:" + strings.ToUpper(sum): false,
		"a@" + sum:                         false,
		"a":                                false,
		"A@sha256:" + sum:                  false,
		"a@sha256:" + sum[1:]:              false,
		"":                                 false,
	} {
		l, err := NewLock([]string{entry})
		if (err == nil) != ok || ok && l.AllowsName(strings.Split(entry, "@")[0], sum) != nil || !ok && !strings.Contains(err.Error(), "list --lock") {
			t.Errorf("%q: %v, %v", entry, l, err)
		}
	}
	if l, err := NewLock(nil); l != nil || err != nil || l.Allows([]byte("anything")) != nil || l.AllowsName("any", sum) != nil {
		t.Errorf("no lock: %v, %v", l, err)
	}
}
