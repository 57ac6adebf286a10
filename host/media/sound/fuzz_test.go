// SPDX-License-Identifier: MIT

package sound

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/penstock/penstock/host/media/mediatest"
)

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
