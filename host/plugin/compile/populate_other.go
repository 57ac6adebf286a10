// SPDX-License-Identifier: MIT

//go:build !linux

package compile

// populate does nothing where the kernel has no such hint.
func populate([]byte) {}
