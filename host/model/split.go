// SPDX-License-Identifier: MIT

package model

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// otherParts returns the paths of parts 2, 3, ... of a model whose first part is path: llama.cpp
// finds them by name.
func otherParts(path string, h *gguf.Header) ([]string, error) {
	n := h.Splits()
	if n == 1 {
		return nil, nil
	}
	if v := h.Values["split.no"]; v.Type != gguf.Uint16 || v.Int(0) != 0 {
		return nil, fmt.Errorf("%w: it is not the first of %d files of its model; name the one ending in -00001-of-%05d.gguf",
			gguf.ErrUnsupported, n, n)
	}
	ending := fmt.Sprintf("-00001-of-%05d.gguf", n)
	prefix, ok := strings.CutSuffix(path, ending)
	if !ok {
		return nil, fmt.Errorf("%w: it is one of %d files of its model, so its name must end in %s", gguf.ErrUnsupported, n, ending)
	}
	var others []string
	for i := 2; i <= n; i++ {
		others = append(others, fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, i, n))
	}
	return others, nil
}
