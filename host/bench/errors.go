// SPDX-License-Identifier: MIT

package bench

import "errors"

var (
	// ErrLoad means that a Load makes no sense.
	ErrLoad = errors.New("bad load")
	// ErrServer means that a server answered with an error, or against the protocol.
	ErrServer = errors.New("server error")
	// ErrStart means that a server process did not become ready.
	ErrStart = errors.New("the server did not start")
)
