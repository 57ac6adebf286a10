// SPDX-License-Identifier: MIT

package remote

import "time"

// Device is one that a worker offers.
type Device struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Backend     string `json:"backend"`
	Kind        string `json:"kind"`            // cpu, gpu, igpu or accelerator
	Free        uint64 `json:"free,omitempty"`  // bytes of memory when the connection began; 0 where unknown
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
