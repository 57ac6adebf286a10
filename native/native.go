// SPDX-License-Identifier: MIT

// Package native binds llama.cpp: models, contexts, KV memory, samplers and chat templates. It is the only package with cgo in it.
//
// A forward pass goes from Context.Decode (context.go) through ps_decode (llama.cpp/shim/context.cpp) to llama.cpp, which asks the kernels
// of llama.cpp/kernels for each operation that they know. A token is chosen from a row of logits by Sampler.Sample (sampler.go), which
// calls chain::sample (llama.cpp/sampling/chain.cpp). A picture becomes pieces of a prompt by Projector.Picture (media.go), these become
// embeddings by Projector.Encode (projector.go), and Context.DecodeEmbeddings (embeddingbatch.go) runs passes over them.
//
// Every call goes through the C++ shim (llama.cpp/shim), which checks what llama.cpp would assert and turns what it throws into errors.
// Values may be closed in any order and more than once: a context, a sampler or a template keeps its model's memory until it is closed
// itself, and a value that is not closed is freed once it is unreachable. A call on a closed value returns ErrClosed.
package native

// #cgo CFLAGS: -I${SRCDIR}/../build/llama.cpp/out/include -I${SRCDIR}/llama.cpp/shim
// #cgo LDFLAGS: -L${SRCDIR}/../build/llama.cpp/out/lib -lpenstock_llama -lm -lpthread
// #cgo linux LDFLAGS: -lstdc++ -ldl
// #cgo darwin LDFLAGS: -lc++
// #include "penstock.h"
import "C"

// Set by zz_stamp.go, which the build of the library writes, with the flags that its backend is linked with.
var buildStamp, buildBackend string

// Build names the library that is linked: the stamp over its source and flags, with the level of the CPU where it has several, and its
// backend (cpu, cuda, ...).
func Build() (stamp, backend string) {
	if level := chosenLevel.Used; level != "" {
		return buildStamp + "-" + level, buildBackend
	}
	return buildStamp, buildBackend
}

// Version is llama.cpp's own version.
func Version() string { return C.GoString(C.ps_version()) }

// ReturnMemory gives memory that llama.cpp has freed back to the system. glibc keeps it otherwise, for each of its threads' arenas: hundreds
// of MiB after a busy time. It takes milliseconds in which allocations wait, so it is for times of rest. Other C libraries keep little,
// and there it does nothing.
func ReturnMemory() { C.ps_return_memory() }
