// SPDX-License-Identifier: MIT

//go:build !unix

package remote

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// SocketPair makes none: --rpc needs a Unix system.
func SocketPair() (ours net.Conn, theirs *os.File, err error) {
	return nil, nil, fmt.Errorf("--rpc needs Linux, macOS or another Unix: %w", errors.ErrUnsupported)
}
