// SPDX-License-Identifier: MIT

package vectors

import (
	"slices"
	"testing"
)

func TestTruncate_LeavesWhatEndsATextThere(t *testing.T) {
	for _, c := range []struct {
		name           string
		tokens, around []int32
		want           []int32
	}{
		{"BERT's ends with [SEP]", []int32{101, 1, 2, 3, 4, 102}, []int32{101, 102}, []int32{101, 1, 2, 102}},
		{"Llama's only begin with one", []int32{7, 1, 2, 3, 4}, []int32{7}, []int32{7, 1, 2, 3}},
		{"some have none", []int32{1, 2, 3, 4, 5}, nil, []int32{1, 2, 3, 4}},
		{"tokens of the client's own", []int32{1, 2, 3, 4, 5}, []int32{101, 102}, []int32{1, 2, 3, 4}},
	} {
		if got := truncateTokens(c.tokens, 4, c.around); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
