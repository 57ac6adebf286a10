// SPDX-License-Identifier: MIT

//go:build !unix

package atomicfile

// CheckPrivate does nothing where folders have no such owner and mode: the user's cache folder is
// the user's.
func CheckPrivate(dir, what string) error { return nil }
