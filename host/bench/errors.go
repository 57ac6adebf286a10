// SPDX-License-Identifier: MIT

package bench

import "errors"

var (
	// ErrLoad: a Load makes no sense.
	ErrLoad = errors.New("bad load")
	// ErrServer: a server answered with an error, or not as the protocol has it.
	ErrServer = errors.New("server error")
	// ErrStart: a server process did not get ready.
	ErrStart = errors.New("the server did not start")
)
