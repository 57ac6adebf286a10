// SPDX-License-Identifier: MIT

package host

import (
	"testing"

	"github.com/penstock/penstock/native"
)

// vocabulary is the built-in model without its weights.
func vocabulary(t *testing.T) *native.Model {
	t.Helper()
	m, err := native.LoadModel(t.Context(), "model/penstock-tiny.gguf", native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// piece is the text of a token of the built-in model.
func piece(t *testing.T, token int) string {
	t.Helper()
	return vocabulary(t).SpecialPiece(int32(token))
}
