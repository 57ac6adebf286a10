// SPDX-License-Identifier: MIT

package memory

import "errors"

// ErrFreed is returned for a Region or Image that is no longer there.
var ErrFreed = errors.New("memory is freed")

// ErrSize is returned for more memory than a guest can address, and where an
// Image does not fit a memory.
var ErrSize = errors.New("size does not fit")

// ErrChanged means that more of a memory differs from its base than may.
var ErrChanged = errors.New("too much memory differs")
