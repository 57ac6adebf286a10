// SPDX-License-Identifier: MIT

package native

// #include <stdlib.h>
// #include "penstock.h"
import "C"

import "unsafe"

// takeText copies bytes the shim allocated and frees them.
func takeText(t *C.ps_text) string {
	s := unsafe.String((*byte)(unsafe.Pointer(t.data)), int(t.size))
	s = string(append([]byte(nil), s...))
	C.ps_text_free(t)
	return s
}

// textPointer hands a string's bytes to C for the length of a call. They are not zero-terminated.
func textPointer(s string) *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s)))
}

func freeString(s *C.char) { C.free(unsafe.Pointer(s)) }
