// SPDX-License-Identifier: MIT

package atomicfile

import "errors"

// ErrInUse is the error of a file that another process has for itself.
var ErrInUse = errors.New("in use by another process")
