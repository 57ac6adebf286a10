// SPDX-License-Identifier: MIT

// Package native binds llama.cpp: models, contexts, KV memory, samplers and chat templates. It is
// the only package with cgo in it.
//
// A forward pass goes from Context.Decode (context.go) through ps_decode
// (llama.cpp/shim/context.cpp) to llama.cpp, which asks the kernels of llama.cpp/kernels for each
// operation that they know. A token is chosen from a row of logits by Sampler.Sample (sampler.go),
// which calls chain::sample (llama.cpp/sampling/chain.cpp). A picture becomes pieces of a prompt
// by Projector.Picture and Sound, these become embeddings by Projector.Encode (projector.go), and
// Context.DecodeEmbeddings (context.go) runs passes over them.
//
// Every call goes through the C++ shim (llama.cpp/shim), which checks what llama.cpp would assert
// and turns what it throws into errors. Values may be closed in any order and more than once: a
// context, a sampler or a template keeps its model's memory until it is closed itself, and a value
// that is not closed is freed once it is unreachable. A call on a closed value returns ErrClosed.
//
// # Why does libmtmd get each picture alone, and never a prompt?
//
// Then no text of a client is searched for its markers, texts are tokenised as all others are,
// and a picture's pieces are the same wherever it stands, so that its embeddings can be kept by
// the content of its file. Projectors of two kinds, deepseek4v and hunyuanvl, count what stands
// before a picture; they are refused.
//
// # How is an encoder stopped?
//
// llama.cpp's scheduler of graphs asks after each operation that a callback has named, and the
// callback names what leaves a layer, as libmtmd calls it, and every 64th operation of encoders
// that call it nothing. The answer no ends the computation there. libmtmd reports success all the
// same, so the shim remembers the answer.
//
// # Why are pictures bounded in their shape?
//
// libmtmd asserts that a scaled picture has pixels, and a line of 10,000 to 1 may have none. A
// longer side may be 100 times the shorter one, and the trial of a projector encodes pictures of
// just that shape.
//
// # Why does Penstock find special tokens in a text itself?
//
// llama.cpp goes through a text once for each special token of the vocabulary, and for each that
// it finds through all found so far: a megabyte of them took 26 seconds. vocabulary.go finds all
// in one pass and decides between those that overlap as llama.cpp does; llama.cpp tokenises
// what stands between. A test compares both on random texts with all vocabularies of llama.cpp's
// tree. Since there are then many small calls, a request that is given up ends between two of
// them.
//
// # When does memory that llama.cpp has freed go back to the system?
//
// glibc gives each thread an arena, and keeps what is freed in the middle of one. Under the load of
// `make soak` the server had 250 MiB of such free memory in 15 arenas, with 35 MiB in use; it
// looked like a leak and was never returned. One call of malloc_trim gives it back, but holds up
// all who allocate for some milliseconds. So it is made once nobody has used a model for a second.
// Fewer arenas (M_ARENA_MAX) would only have made the threads wait for one another. What is free at
// the end of a thread's arena malloc_trim does not touch, and glibc lets that grow to 64 MiB once a
// large block was freed, so the limits are set once, at the start: 1 MiB at the end, and blocks of
// 4 MiB come from the system and go back to it at once.
package native
