// SPDX-License-Identifier: MIT

//go:build unix

package remote

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// SocketPair makes two ends of one connection: ours, and one for C++, which blocks.
func SocketPair() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // so that no child inherits what is not yet marked
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	file := os.NewFile(uintptr(ends[0]), "socket of a worker")
	defer func() { _ = file.Close() }() // FileConn has a copy
	theirs = os.NewFile(uintptr(ends[1]), "socket of ggml")
	if ours, err = net.FileConn(file); err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return ours, theirs, nil
}
