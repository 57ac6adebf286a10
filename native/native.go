// SPDX-License-Identifier: MIT

package native

// #cgo CFLAGS: -I${SRCDIR}/../build/llama.cpp/out/include -I${SRCDIR}/llama.cpp/shim
// #cgo LDFLAGS: -L${SRCDIR}/../build/llama.cpp/out/lib -lpenstock_llama -lm -lpthread
// #cgo linux LDFLAGS: -lstdc++ -ldl
// #cgo darwin LDFLAGS: -lc++
// #include "penstock.h"
import "C"

// Set by zz_stamp.go, which the build of the library writes, with the flags that its backend is
// linked with.
var buildStamp, buildBackend string

// Build names the library that is linked: the stamp over its source and flags, with the level of
// the CPU where it has several, and its backend (cpu, cuda, ...).
func Build() (stamp, backend string) {
	if level := chosenLevel.Used; level != "" {
		return buildStamp + "-" + level, buildBackend
	}
	return buildStamp, buildBackend
}

// Version is llama.cpp's own version.
func Version() string { return C.GoString(C.ps_version()) }

// ReturnMemory gives memory that llama.cpp has freed back to the system. glibc keeps it otherwise,
// for each of its threads' arenas: hundreds of MiB after a busy time. It takes milliseconds in
// which allocations wait, so it is for times of rest. Other C libraries keep little, and there it
// does nothing.
func ReturnMemory() { C.ps_return_memory() }
