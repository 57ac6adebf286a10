// SPDX-License-Identifier: MIT

package plugin

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
)

// SeenTokens are tokens as plugins see them. A row of a picture or a sound, whose number is the
// scheduler's own, is abi.TokenMedia.
func SeenTokens(tokens []int32) []int32 {
	first := slices.IndexFunc(tokens, func(t int32) bool { return t < abi.TokenMedia })
	if first < 0 {
		return tokens
	}
	seen := slices.Clone(tokens)
	for i, t := range seen[first:] {
		seen[first+i] = max(t, abi.TokenMedia)
	}
	return seen
}
