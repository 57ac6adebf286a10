// SPDX-License-Identifier: MIT

package plugin

import (
	"strings"
	"testing"
)

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
