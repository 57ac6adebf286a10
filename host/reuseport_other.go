// SPDX-License-Identifier: MIT

//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package host

import (
	"errors"
	"syscall"
)

// reusePort fails: this system does not let two servers have one port.
func reusePort(_, _ string, _ syscall.RawConn) error {
	return errors.New("server.reuse_port is for systems with SO_REUSEPORT; leave it out here")
}
