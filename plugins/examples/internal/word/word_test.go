// SPDX-License-Identifier: MIT

package word

import "testing"

func TestHas(t *testing.T) {
	for _, c := range "aZ0_éßµΣıйשع한ạ" {
		if !Has(c) {
			t.Errorf("%q is of no word", c)
		}
	}
	for _, c := range " .-\u00a0«»×’“”…—王カ、ไ。！😀\ufe0f\ufffd" {
		if Has(c) {
			t.Errorf("%q is of a word", c)
		}
	}
}
