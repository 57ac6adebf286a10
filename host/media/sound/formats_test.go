// SPDX-License-Identifier: MIT

package sound

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/penstock/penstock/host/media/mediatest"
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

// fuzz opens and decodes whatever comes: nothing panics, the sound is no longer than it may be,
// and its samples are numbers.
func fuzz(f *testing.F, format string, seeds ...[]byte) {
	for _, h := range mediatest.Hostile() {
		if FormatOf(h.Data) == format && len(h.Data) < 1<<16 {
			f.Add(h.Data)
		}
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data, 16000, 5*time.Second)
		if err != nil {
			return
		}
		s, err := file.Decode(context.Background(), restless)
		if err != nil {
			return
		}
		if len(s.Mono) > 5*16000+1 || int64(len(s.Mono))*4 > file.Memory {
			t.Errorf("%d samples; %d bytes were said", len(s.Mono), file.Memory)
		}
		for i, v := range s.Mono {
			if math.IsNaN(float64(v)) || v < -2 || v > 2 { // a low-pass swings over
				t.Fatalf("sample %d is %v", i, v)
			}
		}
	})
}

func FuzzWAV(f *testing.F) {
	samples := tone(440, 8000, 200)
	fuzz(f, "WAV", wavOf(formatPCM, 8, 1, 8000, false, written(formatPCM, 8, 1, samples)),
		wavOf(formatPCM, 24, 2, 44100, true, written(formatPCM, 24, 2, samples)),
		wavOf(formatFloat, 64, 1, 22050, false, written(formatFloat, 64, 1, samples)))
}

func FuzzMP3(f *testing.F) {
	fuzz(f, "MP3", stored(f, "stereo-44100.mp3"), stored(f, "mono-22050.mp3"))
}
