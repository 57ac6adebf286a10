// SPDX-License-Identifier: MIT

package synth_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// A later part, which has no metadata but its number, is named as that.
func TestSplit_Check_LaterPartsAreNamed(t *testing.T) {
	whole, err := os.ReadFile("../../../host/model/penstock-tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	parts := must.Get(synth.Split(whole))(t)
	if _, err := gguf.Check(bytes.NewReader(parts[0]), int64(len(parts[0]))); err != nil {
		t.Errorf("the first: %v", err)
	}
	_, err = gguf.Check(bytes.NewReader(parts[1]), int64(len(parts[1])))
	if !errors.Is(err, gguf.ErrUnsupported) || !strings.Contains(err.Error(), "not the first of 2 files of its model; name the one ending in -00001-of-00002.gguf") {
		t.Errorf("the second: %v", err)
	}
}
