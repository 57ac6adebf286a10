// SPDX-License-Identifier: MIT

package recording

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// TestCheckSeal_EachBitCounts flips bits of a sealed recording, of which each must be noticed.
func TestCheckSeal_EachBitCounts(t *testing.T) {
	key := must.Get(receipt.NewKey())(t)
	text := must.Get(json.Marshal(key.Public()))(t)
	keys := must.Get(receipt.ParseKeys(text))(t)
	s := open(t, t.TempDir(), wide)
	s.SealWith(key)
	id := record(t, s, "alice")
	file := must.Get(s.Get(t.Context(), serving.RecordingReader{Caller: "alice"}, id))(t)
	defer file.Close() //nolint:errcheck // it was only read
	data := must.Get(io.ReadAll(file))(t)
	if got, err := CheckSeal(keys, data); err != nil || got != id {
		t.Fatal(got, err)
	}
	if _, err := session.Read(bytes.NewReader(data)); err != nil {
		t.Errorf("it cannot be read with its seal: %v", err)
	}
	bits := make([]int, 8*len(data))
	for i := range bits {
		bits[i] = i
	}
	for _, bit := range steadytest.Some(t, bits, 500) {
		changed := slices.Clone(data)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := CheckSeal(keys, changed); err == nil {
			t.Errorf("bit %d of %d does not count", bit, len(bits))
		}
	}
	for _, other := range [][]byte{nil, data[:len(data)-1], append(slices.Clone(data), 0), append(slices.Clone(data), data...)} {
		if _, err := CheckSeal(keys, other); err == nil {
			t.Errorf("%d bytes in the place of %d pass", len(other), len(data))
		}
	}
}
