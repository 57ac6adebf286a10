// SPDX-License-Identifier: MIT

package native

import "strconv"

// Pooling is how the embeddings of a text's tokens become one. The numbers are those of model
// files.
type Pooling int

// The kinds of pooling.
const (
	PoolingUnspecified Pooling = iota - 1 // the file does not say
	PoolingNone                           // each token keeps its own
	PoolingMean
	PoolingCLS  // that of the first token
	PoolingLast // that of the last token
	PoolingRank // a classifier's scores in place of an embedding
)

// poolingOf reads what a model file says.
func poolingOf(meta map[string]string) Pooling {
	n, err := strconv.Atoi(meta[meta["general.architecture"]+".pooling_type"])
	if err != nil || n < int(PoolingNone) || n > int(PoolingRank) {
		return PoolingUnspecified
	}
	return Pooling(n)
}
