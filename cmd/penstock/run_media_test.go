// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

// pngFile draws stripes of a colour into a file and returns its path.
func pngFile(t *testing.T, name string, c color.RGBA) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for x := range 60 {
		for y := range 40 {
			if (x/8+y/5)%2 == 0 {
				picture.SetRGBA(x, y, c)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return inFolder(t, name, b.Bytes())
}

// wavFile writes a second of sound into a file and returns its path.
func wavFile(t *testing.T, name string, period int) string {
	t.Helper()
	samples := make([]int16, 16000)
	for i := range samples {
		samples[i] = int16(i % period * 20000 / period)
	}
	b := bytes.NewBufferString("RIFF")
	le := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(b, binary.LittleEndian, v) // into memory
		}
	}
	le(uint32(36 + 2*len(samples)))
	b.WriteString("WAVEfmt ")
	le(uint32(16), uint16(1), uint16(1), uint32(16000), uint32(32000), uint16(2), uint16(16))
	b.WriteString("data")
	le(uint32(2*len(samples)), samples)
	return inFolder(t, name, b.Bytes())
}

func inFolder(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Answers in the terminal depend on the files, and on their order.
func TestRun_Media(t *testing.T) {
	both, _, err := synth.MediaPairs[8].WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	red, blue := pngFile(t, "red.png", color.RGBA{255, 0, 0, 255}), pngFile(t, "blue.png", color.RGBA{0, 0, 255, 255})
	hum := wavFile(t, "hum.wav", 97)
	seen := map[string]string{}
	for name, files := range map[string][]string{
		"none": nil, "red": {"--image", red}, "blue": {"--image", blue}, "red, blue": {"--image", red, "--image", blue}, "blue, red": {"--image", blue, "--image", red},
		"hum": {"--audio", hum}, "red, hum": {"--image", red, "--audio", hum},
	} {
		args := append([]string{"run", both, "What is it?", "--ctx-size", "2048", "--temperature", "0", "--max-tokens", "16"}, files...)
		got := penstock(t, "", args...)
		if got.code != exitDone || len(got.out) < 5 {
			t.Errorf("%s: %+v", name, got)
		}
		for other, text := range seen {
			if text == got.out {
				t.Errorf("%s and %s: %q", name, other, text)
			}
		}
		seen[name] = got.out
		if name != "red, hum" { // which has both
			continue
		}
		if again := penstock(t, "", args...); again != got {
			t.Errorf("%s: %+v, then %+v", name, got, again)
		}
	}
}

func TestRun_Media_Refusals(t *testing.T) {
	sees, _, err := synth.MediaPairs[2].WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	red, notes, hum := pngFile(t, "red.png", color.RGBA{255, 0, 0, 255}), inFolder(t, "notes.txt", []byte("hello")), wavFile(t, "hum.wav", 97)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"absent":          {[]string{sees, "hi", "--image", red + ".absent"}, "--image: stat " + red + ".absent"},
		"a folder":        {[]string{sees, "hi", "--image", t.TempDir()}, "is no file"},
		"empty":           {[]string{sees, "hi", "--image", inFolder(t, "empty.png", nil)}, "is empty"},
		"no picture":      {[]string{sees, "hi", "--image", notes}, "--image " + notes + " is no file of a kind that is read here"},
		"a sound":         {[]string{sees, "hi", "--audio", hum}, "--audio " + hum + " is a sound, and the model"},
		"text only":       {[]string{"penstock-tiny", "hi", "--image", red}, "reads text only"},
		"without wrapper": {[]string{sees, "hi", "--raw", "--image", red}, "--raw gives the model a text alone"},
	} {
		got := penstock(t, "", append(append([]string{"run"}, c.args...), "--ctx-size", "2048", "--max-tokens", "2")...)
		if got.code == exitDone || got.out != "" || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
}
