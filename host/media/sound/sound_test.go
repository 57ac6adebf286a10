// SPDX-License-Identifier: MIT

package sound

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// The files of testdata were made by lamejs: half a second of a tone of 440 Hz, at half of full
// scale.
//
//go:embed testdata/*.*
var testdata embed.FS

func restless() {}

func stored(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(testdata.ReadFile("testdata/" + name))(t)
}

// tone is a sine of an amplitude of a half.
func tone(hz float64, rate, samples int) []float32 {
	out := make([]float32, samples)
	for i := range out {
		out[i] = float32(0.5 * math.Sin(2*math.Pi*hz*float64(i)/float64(rate)))
	}
	return out
}

// loudness is how much of a frequency a sound has, without its ends: the amplitude of a sine.
func loudness(s Samples, hz float64) float64 {
	edge := len(s.Mono) / 8
	var re, im float64
	part := s.Mono[edge : len(s.Mono)-edge]
	for i, v := range part {
		angle, hann := 2*math.Pi*hz*float64(i)/float64(s.Rate), 1-math.Cos(2*math.Pi*float64(i)/float64(len(part)))
		re += float64(v) * math.Cos(angle) * hann
		im += float64(v) * math.Sin(angle) * hann
	}
	return 2 * math.Hypot(re, im) / float64(len(part))
}

// wavOf is a WAV with samples as they stand.
func wavOf(kind uint16, bits, channels, rate int, extensible bool, samples []byte) []byte {
	le := binary.LittleEndian
	f := le.AppendUint16(nil, kind)
	if extensible {
		f = le.AppendUint16(nil, formatExtensible)
	}
	f = le.AppendUint16(f, uint16(channels))
	f = le.AppendUint32(f, uint32(rate))
	f = le.AppendUint32(f, uint32(rate*channels*bits/8))
	f = le.AppendUint16(f, uint16(channels*bits/8))
	f = le.AppendUint16(f, uint16(bits))
	if extensible {
		f = le.AppendUint16(f, 22)
		f = append(f, make([]byte, 6)...)
		f = le.AppendUint16(f, kind)
		f = append(f, make([]byte, 14)...)
	}
	out := append(le.AppendUint32([]byte("RIFF"), 0), "WAVEfmt "...)
	out = append(le.AppendUint32(out, uint32(len(f))), f...)
	out = append(le.AppendUint32(append(out, "LIST"...), 3), 1, 2, 3, 0) // of an odd length
	return append(le.AppendUint32(append(out, "data"...), uint32(len(samples))), samples...)
}

// written are samples in one of WAV's forms, the same in each channel.
func written(kind uint16, bits, channels int, samples []float32) (out []byte) {
	for _, s := range samples {
		for range channels {
			switch v := float64(s); {
			case kind == formatFloat && bits == 32:
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(s))
			case kind == formatFloat:
				out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
			case bits == 8:
				out = append(out, byte(128+math.Round(v*127)))
			case bits == 16:
				out = binary.LittleEndian.AppendUint16(out, uint16(int16(v*32767)))
			case bits == 24:
				out = append(out, binary.LittleEndian.AppendUint32(nil, uint32(int32(v*(1<<23-1))))[:3]...)
			default:
				out = binary.LittleEndian.AppendUint32(out, uint32(int32(v*(1<<31-1))))
			}
		}
	}
	return out
}

func decoded(t testing.TB, data []byte, rate int) Samples {
	t.Helper()
	f := must.Get(Open(data, rate, time.Minute))(t)
	s := must.Get(f.Decode(context.Background(), restless))(t)
	if s.Rate != rate {
		t.Errorf("a rate of %d; want %d", s.Rate, rate)
	}
	return s
}

func TestDecode_WAV_Kinds(t *testing.T) {
	samples := tone(440, 16000, 8000)
	for _, c := range []struct {
		kind       uint16
		bits       int
		channels   int
		extensible bool
		near       float64
	}{
		{formatPCM, 8, 1, false, 0.01}, {formatPCM, 16, 1, false, 1e-4}, {formatPCM, 16, 2, true, 1e-4}, {formatPCM, 24, 2, false, 1e-6},
		{formatPCM, 32, 6, true, 1e-6}, {formatFloat, 32, 1, false, 0}, {formatFloat, 64, 2, true, 1e-7},
	} {
		data := wavOf(c.kind, c.bits, c.channels, 16000, c.extensible, written(c.kind, c.bits, c.channels, samples))
		got := decoded(t, data, 16000)
		if len(got.Mono) != len(samples) {
			t.Fatalf("%+v: %d samples; want %d", c, len(got.Mono), len(samples))
		}
		for i, want := range samples {
			if d := math.Abs(float64(got.Mono[i] - want)); d > c.near+1e-6 {
				t.Fatalf("%+v: sample %d is %v; want %v", c, i, got.Mono[i], want)
			}
		}
	}
}

// Channels that are opposite are silent together.
func TestDecode_WAV_Mix(t *testing.T) {
	var samples []byte
	for i := range 400 {
		samples = binary.LittleEndian.AppendUint16(samples, uint16(int16(i*50)))
		samples = binary.LittleEndian.AppendUint16(samples, uint16(int16(-i*50)))
	}
	for i, s := range decoded(t, wavOf(formatPCM, 16, 2, 8000, false, samples), 8000).Mono {
		if s != 0 {
			t.Fatalf("sample %d is %v", i, s)
		}
	}
}

// A file that is written as a stream does not know its length.
func TestDecode_WAV_UnknownLength(t *testing.T) {
	for _, size := range []uint32{0, 1<<32 - 1} {
		samples := written(formatPCM, 16, 1, tone(440, 16000, 1000))
		data := wavOf(formatPCM, 16, 1, 16000, false, samples)
		binary.LittleEndian.PutUint32(data[len(data)-len(samples)-4:], size)
		if got := len(decoded(t, data, 16000).Mono); got != 1000 {
			t.Errorf("%d samples; want 1000", got)
		}
	}
}

func TestDecode_Resampled(t *testing.T) {
	for _, from := range []int{8000, 11025, 22050, 44100, 48000, 96000, 16001} {
		data := wavOf(formatFloat, 32, 1, from, false, written(formatFloat, 32, 1, tone(440, from, from)))
		got := decoded(t, data, 16000)
		if n := len(got.Mono); n < 15999 || n > 16001 {
			t.Errorf("a second at %d Hz became %d samples", from, n)
		}
		for i := 2000; i < 14000; i++ {
			if want := 0.5 * math.Sin(2*math.Pi*440*float64(i)/16000); math.Abs(float64(got.Mono[i])-want) > 1e-3 {
				t.Fatalf("from %d Hz: sample %d is %v; want %v", from, i, got.Mono[i], want)
			}
		}
	}
}

// What 16 kHz cannot have is not heard as another tone, and what it can have is heard.
func TestDecode_Resampled_LowPass(t *testing.T) {
	for hz, heard := range map[float64]bool{1000: true, 6000: true, 8500: false, 9000: false, 12000: false, 15500: false} {
		data := wavOf(formatFloat, 32, 1, 44100, false, written(formatFloat, 32, 1, tone(hz, 44100, 44100)))
		s := decoded(t, data, 16000)
		as := hz
		if as > 8000 {
			as = 16000 - as // as which it would be heard
		}
		switch got := loudness(s, as); {
		case heard && math.Abs(got-0.5) > 0.005:
			t.Errorf("%v Hz has an amplitude of %v; want 0.5", hz, got)
		case !heard && got > 1e-3:
			t.Errorf("%v Hz is heard as %v Hz with an amplitude of %v", hz, as, got)
		}
	}
}

func TestDecode_MP3(t *testing.T) {
	plain := stored(t, "stereo-44100.mp3")
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x07\x68"), make([]byte, 1000)...)
	for name, data := range map[string][]byte{
		"stereo": plain, "mono": stored(t, "mono-22050.mp3"), "with a tag": append(tag, plain...),
		"with a tag at the end": append(bytes.Clone(plain), append([]byte("TAG"), bytes.Repeat([]byte{0xff}, 125)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			if got := FormatOf(data); got != "MP3" {
				t.Errorf("format %q", got)
			}
			s := decoded(t, data, 16000)
			if seconds := float64(len(s.Mono)) / 16000; seconds < 0.5 || seconds > 0.65 {
				t.Errorf("it lasts %v s; want half a second and what the encoder adds", seconds)
			}
			if got := loudness(s, 440); got < 0.4 || got > 0.6 {
				t.Errorf("440 Hz has an amplitude of %v; want about 0.5", got)
			}
			if got := loudness(s, 1000); got > 0.01 {
				t.Errorf("1000 Hz has an amplitude of %v; want none", got)
			}
		})
	}
}

// What Decode takes is no more than Open has said.
func TestDecode_Memory_IsWhatOpenSays(t *testing.T) {
	loud := tone(440, 48000, 48000*4)
	for name, data := range map[string][]byte{
		"stereo": stored(t, "stereo-44100.mp3"), "mono": stored(t, "mono-22050.mp3"),
		"wav": wavOf(formatPCM, 16, 1, 48000, false, written(formatPCM, 16, 1, loud)), "slow wav": wavOf(formatPCM, 16, 1, 8000, false, written(formatPCM, 16, 1, loud)),
	} {
		f, err := Open(data, 16000, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var s Samples
		if taken := held(func() { s, err = f.Decode(context.Background(), restless) }); err != nil || taken > f.Memory {
			t.Errorf("%s: %d bytes, %v; at most %d were said", name, taken, err, f.Memory)
		}
		runtime.KeepAlive(s)
	}
}

// held is how many bytes f leaves in use.
func held(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestDecode_TooLong(t *testing.T) {
	frames := stored(t, "mono-22050.mp3")
	long := bytes.Repeat(frames, 8) // 4 s
	for name, data := range map[string][]byte{
		"WAV": wavOf(formatPCM, 8, 1, 1000, false, make([]byte, 3000)), "MP3": long,
	} {
		f, err := Open(data, 16000, 2*time.Second)
		if err == nil {
			_, err = f.Decode(context.Background(), restless)
		}
		if err == nil || !strings.Contains(err.Error(), "at most 2s are taken (media.sound_length)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecode_Cancelled(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	for _, data := range [][]byte{stored(t, "stereo-44100.mp3"), wavOf(formatPCM, 16, 1, 8000, false, make([]byte, 100))} {
		f := must.Get(Open(data, 16000, time.Minute))(t)
		if _, err := f.Decode(ctx, restless); !errors.Is(err, gone) {
			t.Errorf("%v; want the cause", err)
		}
	}
}

func TestOpen_Refusals(t *testing.T) {
	good := func(change func([]byte)) []byte {
		data := wavOf(formatPCM, 16, 1, 16000, false, make([]byte, 64))
		change(data)
		return data
	}
	le := binary.LittleEndian
	nan := wavOf(formatFloat, 32, 1, 16000, false, []byte{0, 0, 0xc0, 0x7f})
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"a rate of 4 GHz":      {good(func(d []byte) { le.PutUint32(d[24:], 1<<32-1) }), "its rate is 4294967295 Hz; 1000 to 384000 are read here"},
		"a rate of nothing":    {good(func(d []byte) { le.PutUint32(d[24:], 0) }), "its rate is 0 Hz"},
		"65535 channels":       {good(func(d []byte) { le.PutUint16(d[22:], 65535) }), "it has 65535 channels; 1 to 32"},
		"no channels":          {good(func(d []byte) { le.PutUint16(d[22:], 0) }), "it has 0 channels"},
		"12 bits":              {good(func(d []byte) { le.PutUint16(d[34:], 12) }), "kind 1 with 12 bits"},
		"no bits":              {good(func(d []byte) { le.PutUint16(d[34:], 0) }), "kind 1 with 0 bits"},
		"another kind":         {good(func(d []byte) { le.PutUint16(d[20:], 85) }), "kind 85 with 16 bits"},
		"a wrong frame":        {good(func(d []byte) { le.PutUint16(d[32:], 7) }), "take 7 bytes"},
		"a format without end": {good(func(d []byte) { le.PutUint32(d[16:], 1<<32-2) }), `its part "fmt " says`},
		"a short format":       {good(func(d []byte) { le.PutUint32(d[16:], 2) }), "its format is cut off"},
		"no samples":           {wavOf(formatPCM, 16, 1, 16000, false, nil), "it has no samples"},
		"samples without form": {[]byte("RIFF\x00\x00\x00\x00WAVEdata\x04\x00\x00\x00abcd"), "before their format"},
		"nothing":              {[]byte("RIFF\x00\x00\x00\x00WAVE"), "it has no samples"},
		"no number":            {nan, "one of its samples is no number"},
		"a tag of 256 MiB":     {[]byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7fabc"), "it has a tag and no sound"},
		"tags and tags":        {bytes.Repeat([]byte("ID3\x04\x00\x00\x00\x00\x00\x00"), 1000), "it has a tag and no sound"},
		"MPEG 2.5":             {append([]byte{0xff, 0xe3, 0x40, 0x00}, make([]byte, 500)...), "2.5 is not supported"},
		"a frame cut off":      {stored(t, "stereo-44100.mp3")[:100], "is a MP3 that cannot be decoded"},
		"a video of QuickTime": {[]byte("\x00\x00\x00\x18ftypmp42"), "WAV or MP3"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Open(c.data, 16000, time.Minute)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err == nil {
				_, err = f.Decode(context.Background(), restless)
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
				t.Errorf("it took %d bytes", taken)
			}
		})
	}
}
