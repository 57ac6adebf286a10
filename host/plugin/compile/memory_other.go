// SPDX-License-Identifier: MIT

//go:build !linux

package compile

// limitData does nothing where the kernel has no such limit for all memory.
func limitData(uint64) {}
