// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "unsafe"

// audit returns the struct sizes, field offsets and enum values of llama.h that the shim was compiled with.
func audit() map[string]int64 {
	var n C.size_t
	facts := unsafe.Slice(C.ps_audit(&n), int(n))
	out := make(map[string]int64, len(facts))
	for _, f := range facts {
		out[C.GoString(f.name)] = int64(f.value)
	}
	return out
}
