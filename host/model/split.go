// SPDX-License-Identifier: MIT

package model

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// otherParts returns the paths of parts 2, 3, ... of a model whose first part is path: llama.cpp
// finds them by name. The header is one that gguf.Check has passed.
func otherParts(path string, h *gguf.Header) ([]string, error) {
	n := h.Splits()
	if n == 1 {
		return nil, nil
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
