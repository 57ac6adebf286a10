// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

func beginFilter(value any) {
	guest.Filter = nil
	if f, ok := value.(Filterer); ok {
		guest.Filter = func(size, last int32) int32 { return filter(f, size, last == 1) }
	}
}

// filter hands to emit what is shown, unless it is the beginning of the text as it was.
func filter(f Filterer, size int32, last bool) int32 {
	given := textBuffer()[:size]
	shown, keep := f.Filter(given, last)
	if rest := len(given) - keep; len(shown) != rest || rest > 0 && &shown[0] != &given[0] {
		emit(shown)
	}
	return int32(keep)
}

func textBuffer() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&text[0])), textRoom) }
