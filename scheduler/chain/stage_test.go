// SPDX-License-Identifier: MIT

package chain

import "testing"

func TestView_Likeliest(t *testing.T) {
	row := []float32{1, 5, 3}
	for name, tc := range map[string]struct {
		view View
		want Token
	}{
		"of the row":      {View{Row: row, N: -1, Chosen: -1}, 1},
		"of candidates":   {View{Row: row, ID: []Token{0, 2, 1}, Logit: []float32{1, 3, 5}, N: 2, Chosen: -1}, 2},
		"what was chosen": {View{Row: row, N: -1, Chosen: 0}, 0},
		"of none":         {View{Row: row, N: 0, Chosen: -1}, 0},
	} {
		if got := tc.view.Likeliest(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
