// SPDX-License-Identifier: MIT

// Package remote has devices of other machines compute for a model of this one: it serves a worker's devices, and connects a host with
// workers.
//
// llama.cpp's RPC backend does the work: ggml's client in the host sends tensors and graphs, and ggml's server in a child process of the
// worker computes them. This package is what lies between the two:
//
//	ggml in the host ─socketpair─ guard ─── link, TLS ─── Server ─socketpair─ ggml in a child of the worker
//
// A link (link.go) carries bytes in frames, so that either side can tell a peer that computes for long from one that is gone. The guard
// (guard.go) knows ggml's protocol well enough to answer in a lost worker's place, because ggml ends its process when a worker does not
// answer. A Session (session.go) is a worker's devices in use by one model of a host; a Server (server.go) has a child process for each.
package remote

import "time"

// Device is one that a worker offers.
type Device struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Backend     string `json:"backend"`
	Kind        string `json:"kind"`            // cpu, gpu, igpu or accelerator
	Free        uint64 `json:"free,omitempty"`  // bytes of memory when the session began; 0 where unknown
	Total       uint64 `json:"total,omitempty"` // likewise
}

// Limits of time. They hold for the peer's signs of life, not for its work.
const (
	pingEvery      = 2 * time.Second
	silence        = 10 * time.Second // after which a peer is gone
	handshakeLimit = 10 * time.Second // of TLS, and of a host's first frame
	startLimit     = time.Minute      // in which a worker's child finds its devices: drivers of GPUs are slow to start
	leaveLimit     = 4 * time.Second  // in which a worker is free again once its host has gone
	endLimit       = 2 * time.Second  // in which a peer takes the reason for an end
	answerLimit    = 10 * time.Minute // of one answer of a worker that gives signs of life: its device hangs
)
