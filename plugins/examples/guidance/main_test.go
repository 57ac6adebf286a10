// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// What the program does with a model, its cases have.

func TestWithoutPictures(t *testing.T) {
	if got := withoutPictures([]penstock.Token{1, penstock.MediaToken, penstock.MediaToken, 2}); !slices.Equal(got, []penstock.Token{1, 2}) {
		t.Errorf("left are %v", got)
	}
}
