// SPDX-License-Identifier: MIT

package engine

import "testing"

// Of adapters from the same file, one may be unloaded and not collected yet: the one that was
// loaded last is in use.
func TestEngine_AdapterKey_IsOfTheAdapterLoadedLast(t *testing.T) {
	e := &Engine{identity: newIdentity(Options{})}
	for number := range uint64(20) {
		e.identity.adapters[number] = "a"
	}
	e.identity.adapters[20] = "b"
	for range 10 { // in some order of the map
		if key, err := e.AdapterKey("a:1 b:2 "); key != "19:1 20:2 " || err != nil {
			t.Fatalf("%q, %v", key, err)
		}
	}
}
