// SPDX-License-Identifier: MIT

//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// reusePort lets others listen on the port of a socket. They must be processes of the same user.
func reusePort(_, _ string, socket syscall.RawConn) error {
	var failed error
	err := socket.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return errors.Join(err, failed)
}
