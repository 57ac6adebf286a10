// SPDX-License-Identifier: MIT

//go:build !linux || race

package compile

// limitData does nothing where the kernel has no such limit for all memory, nor beside the race
// detector, which takes many times as much.
func limitData(uint64) {}
