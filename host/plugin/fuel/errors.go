// SPDX-License-Identifier: MIT

package fuel

import "errors"

// Why Rewrite refuses a module. Each error wraps one of these and names the
// place.
var (
	ErrMalformed   = errors.New("malformed module")
	ErrUnsupported = errors.New("feature outside WebAssembly 2.0 with SIMD, or one that plugins may not use")
	ErrLimit       = errors.New("module exceeds a limit")
)

// Why a metered call trapped, as Meter.Err tells it.
var (
	ErrFuel  = errors.New("fuel exhausted")
	ErrStack = errors.New("guest call stack exhausted")
)
