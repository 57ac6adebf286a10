// SPDX-License-Identifier: MIT

// Package remote has devices of other machines compute for a model of this one: it serves a
// worker's devices, and connects a host with workers.
//
// llama.cpp's RPC backend does the work: ggml's client in the host sends tensors and graphs, and
// ggml's server in a child process of the worker computes them. This package is what lies between
// the two:
//
//	ggml in the host ─socketpair─ guard ─── link, TLS ─── Server ─socketpair─ ggml in a child of the worker
//
// A link (link.go) carries bytes in frames, so that either side can tell a peer that computes for
// long from one that is gone. The guard (guard.go) knows ggml's protocol well enough to answer in
// a lost worker's place, because ggml ends its process when a worker does not answer. A Connection
// (connection.go) is a worker's devices in use by one model of a host; a Server (server.go) has a
// child process for each.
//
// # Why is ggml's transport replaced?
//
// transport.h in llama.cpp is a small interface between its RPC backend and sockets. Its own
// implementation connects over TCP and listens on a port, both plain: on a machine with several
// users, any of them could connect to the guard's port first and take the worker. Ours
// (native/llama.cpp/rpc/transport.cpp) has an address mean a socket that Go has made. ggml-rpc.cpp
// beside it is compiled as it is. Nothing listens but `penstock worker`, which asks for a
// certificate.
//
// # Why does each connection have an endpoint of its own?
//
// ggml keeps forever, by the address, which devices there are, their alignment, the sizes of
// tensors and the last graph. After a worker's return, or after an answer of the guard's, these
// may be wrong.
//
// # Why does a worker start a process for each connection?
//
// ggml's server asserts what it is sent, serves one connection at a time and frees a device's
// memory only when it ends. In a process of its own an assertion ends one connection, its last
// words reach the host, two models of one host are two processes, and what was allocated is free
// when it ends. A second host is refused while there are connections of the first: both would count
// the same memory as free.
//
// # How is a worker that computes for long told from one that is gone?
//
// Both say nothing for a while. So each side sends a frame every two seconds, whatever its ggml
// does, and ten seconds without any end the connection. A side that does not take data is not gone:
// while a device computes, the next graph waits in the connection. Only an answer that takes ten
// minutes counts as a device that hangs. The worker's frames begin before its devices are found,
// which may take a GPU's driver a minute.
//
// # Why is a model served by workers loaded twice, once without weights?
//
// The requests that wait when a worker is lost have sampler chains, grammars and prompts made
// with the model, and these keep it in memory. If it were the one with the weights, the weights
// that lie on this machine could not be freed before they are loaded again. So texts are made
// with a model of the vocabulary alone, which takes a few MB, and the one with the weights is
// replaced under it (host/engine/engine.go). The queue knows nothing of it: the scheduler ends
// the answers in slots, forgets the KV cache and goes on when it is told to
// (scheduler/fault.go).
//
// # Why are cached weights checked, though ggml's server has their hash?
//
// It has the hash of what it was to write. It writes in place and does not look whether that
// worked, so a process that was killed, or a full disk, leaves a short file, which a later load
// would take for the weights. The worker hashes each new file once before the next connection
// (host/remote/compute/cache.go).
package remote
