// SPDX-License-Identifier: MIT

//go:build !unix

package hub

func freeSpace(string) (n uint64, ok bool) { return 0, false }
