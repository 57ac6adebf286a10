// SPDX-License-Identifier: MIT

package sound

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// TestDecode_AsMiniaudio: the samples are those that miniaudio decodes, as llama-server does, which
// testdata/record.py has recorded: WAVs of telephones, of streams and cut off, and MP3s that begin
// with something else. Decoders of MP3 round otherwise.
func TestDecode_AsMiniaudio(t *testing.T) {
	var golden map[string]struct {
		WAV, Junk string
		Samples   []int
	}
	must.Do(t, json.Unmarshal(stored(t, "miniaudio.json"), &golden))
	for name, want := range golden {
		data, rate, step, most := bytesOf(t, want.WAV), 8000, 1, 0.0
		if want.WAV == "" {
			data, rate, step, most = append(bytesOf(t, want.Junk), stored(t, "stereo-44100.mp3")...), 44100, 197, 2
		}
		got := decoded(t, data, rate).Mono
		if n := (len(got) + step - 1) / step; n < len(want.Samples) || n > len(want.Samples)+1200/step {
			t.Errorf("%s: %d samples; miniaudio has %d, and leaves out what the encoder added", name, n, len(want.Samples))
			continue
		}
		for i, s := range want.Samples {
			if d := float64(got[i*step])*(1<<15) - float64(s); math.Abs(d) > most {
				t.Errorf("%s: sample %d is %v; miniaudio's is %d", name, i, got[i*step]*(1<<15), s)
				break
			}
		}
	}
}

func bytesOf(t *testing.T, digits string) []byte {
	t.Helper()
	data := must.Get(hex.DecodeString(digits))(t)
	return bytes.Clone(data)
}
