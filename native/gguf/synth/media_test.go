// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

func TestMediaPair_WriteFiles_SameSeed_SameBytes(t *testing.T) {
	for _, pair := range MediaPairs {
		var files [3][2][]byte
		for i, seed := range []uint64{1, 1, 2} {
			model, projector, err := pair.WriteFiles(t.TempDir(), seed)
			if err != nil {
				t.Fatal(err)
			}
			for j, path := range []string{model, projector} {
				if files[i][j], err = os.ReadFile(path); err != nil {
					t.Fatal(err)
				}
			}
		}
		for j := range 2 {
			if !bytes.Equal(files[0][j], files[1][j]) || bytes.Equal(files[0][j], files[2][j]) {
				t.Errorf("%s: equal seeds gave other bytes, or other seeds the same", pair.Projector)
			}
		}
	}
}

func TestMediaPair_WriteFiles_UnknownKinds(t *testing.T) {
	for _, pair := range []MediaPair{{"gemma9", "llama"}, {"mlp", "mamba"}, {"mlp+", "llama"}} {
		if _, _, err := pair.WriteFiles(t.TempDir(), 1); !errors.Is(err, ErrShape) {
			t.Errorf("%+v: %v", pair, err)
		}
	}
}
