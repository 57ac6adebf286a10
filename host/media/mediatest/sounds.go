// SPDX-License-Identifier: MIT

package mediatest

import (
	"bytes"
	"fmt"
	"strings"
)

// format is how a WAV describes its samples.
type format struct {
	kind, channels  uint16
	rate, bytesEach uint32
	align, bits     uint16
}

func (f format) wav(samples any) []byte {
	data := joined([]any{samples})
	return joined([]any{"RIFF", uint32(36 + len(data)), "WAVE", "fmt ", uint32(16), f.kind, f.channels, f.rate, f.bytesEach, f.align, f.bits, "data", uint32(len(data)), data})
}

func (m *maker) wavs() {
	samples := make([]byte, 800)
	for name, f := range map[string]format{
		"no channel": {1, 0, 8000, 16000, 0, 16}, "65535 channels": {1, 65535, 8000, 16000, 65534, 16}, "a rate of 0": {1, 1, 0, 0, 2, 16}, "a rate of 1": {1, 1, 1, 2, 2, 16},
		"a rate of 4 GHz": {1, 1, 1<<32 - 1, 1<<32 - 1, 2, 16}, "0 bits": {1, 1, 8000, 8000, 0, 0}, "1 bit": {1, 1, 8000, 1000, 1, 1}, "65535 bits": {1, 1, 8000, 8000, 8191, 65535},
		"12 bits": {1, 1, 8000, 12000, 2, 12}, "frames of 0 bytes": {1, 1, 8000, 16000, 0, 16}, "frames of 65535 bytes": {1, 1, 8000, 16000, 65535, 16},
		"ADPCM": {2, 1, 8000, 4000, 256, 4}, "µ-law of 16 bits": {7, 1, 8000, 16000, 2, 16}, "GSM": {49, 1, 8000, 1625, 65, 0}, "MP3 in it": {85, 2, 44100, 16000, 1, 0},
		"no kind": {0, 1, 8000, 16000, 2, 16}, "the extended kind and no more": {65534, 1, 8000, 16000, 2, 16}, "floats of 16 bits": {3, 1, 8000, 16000, 2, 16},
	} {
		m.sound("WAV with "+name, f.wav(samples))
	}
	fmtChunk := joined([]any{"fmt ", uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16)})
	floats := format{3, 1, 8000, 32000, 4, 32}
	m.sound("WAV of numbers that are none", floats.wav(bytes.Repeat([]byte("\x00\x00\xc0\x7f"), 200)))
	m.sound("WAV without samples", "RIFF", uint32(36), "WAVE", fmtChunk)
	m.sound("WAV with no samples", "RIFF", uint32(44), "WAVE", fmtChunk, "data", uint32(0))
	m.sound("WAV with half a sample", "RIFF", uint32(45), "WAVE", fmtChunk, "data", uint32(1), "x")
	m.sound("WAV with its format after its samples", "RIFF", uint32(100), "WAVE", "data", uint32(4), "abcd", fmtChunk)
	m.sound("WAV with a format of 4 GB", "RIFF", uint32(100), "WAVE", "fmt ", uint32(1<<32-1), samples)
	m.sound("WAV with a format of 4 bytes", "RIFF", uint32(100), "WAVE", "fmt ", uint32(4), "\x01\x00\x01\x00", "data", uint32(4), "abcd")
	m.sound("WAV with 10000 lists and no samples", "RIFF", uint32(100), "WAVE", fmtChunk, strings.Repeat("LIST\x00\x00\x00\x00", 10000))
	m.sound("WAV with a list of 4 GB", "RIFF", uint32(100), "WAVE", fmtChunk, "LIST", uint32(1<<32-1), samples)
	m.sound("WAV that lasts too long", format{1, 1, 1000, 1000, 1, 8}.wav(make([]byte, 1000*(Seconds+1))))
	m.sound("WAV of 64 bits", "RF64", uint32(1<<32-1), "WAVE", "ds64", uint32(28), make([]byte, 28), fmtChunk, "data", uint32(1<<32-1), samples)
	m.sound("WAV in another order of bytes", "RIFX", uint32(100), "WAVE", fmtChunk, "data", uint32(4), "abcd")
	m.sound("WAV with a picture in it", "RIFF", uint32(100), "WAVE", "VP8 ", uint32(16), make([]byte, 16))
}

func (m *maker) mp3s() {
	const header = "\xff\xfb\x90\x00"
	for name, data := range map[string]any{
		"a header and nothing else":     header,
		"headers and nothing else":      strings.Repeat("\xff\xfb\x90\x04", 3),
		"the first half of a frame":     header + strings.Repeat("\x00", 200),
		"a tag and nothing else":        "ID3\x04\x00\x00\x00\x00\x00\x00",
		"a tag of 256 MB":               "ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + strings.Repeat("\x00", 100),
		"a tag of a wrong length":       "ID3\x04\x00\x00\xff\xff\xff\xff" + strings.Repeat("x", 100),
		"10000 tags":                    strings.Repeat("ID3\x04\x00\x00\x00\x00\x00\x00", 10000),
		"a tag and text":                "ID3\x04\x00\x00\x00\x00\x00\x00" + strings.Repeat("no sound here. ", 300),
		"a tag and a picture":           "ID3\x04\x00\x00\x00\x00\x00\x00" + string(PNG(20, 20)),
		"no bit rate, and no end of it": "\xff\xfb\x00\x00" + strings.Repeat("\x01", 3000),
		"MPEG 2.5":                      strings.Repeat("\xff\xe3\x18\xc4"+strings.Repeat("\x00", 68), 20),
		"layer II":                      strings.Repeat("\xff\xfd\x90\x00"+strings.Repeat("\x00", 413), 5),
	} {
		m.sound("MP3 with "+name, data)
	}
}

// strangers adds files of other kinds, some of which end as a picture or begin nearly like one.
func (m *maker) strangers() {
	png := PNG(20, 20)
	entities := `<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a0 "ha">`
	for i := 1; i < 30; i++ {
		entities += fmt.Sprintf(`<!ENTITY a%d "&a%d;&a%[2]d;">`, i, i-1)
	}
	for name, data := range map[string]any{
		"nothing": "", "one byte": "\x89", "spaces": strings.Repeat(" ", 5000), "zeros": make([]byte, 1<<16), "a text": "a picture of a cat", "JSON": `{"image":"cat.png"}`,
		"an SVG": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "an SVG after spaces": " \r\n\t<svg/>", "an SVG that reads a file": `<?xml version="1.0"?><!DOCTYPE s [<!ENTITY f SYSTEM "file:///etc/passwd">]><svg><text>&f;</text></svg>`,
		"an SVG of a billion entities": entities + "]><svg>&a29;</svg>", "an SVG with a picture from elsewhere": "<svg><image href='http://169.254.169.254/latest/meta-data'/></svg>", "an SVG in another encoding": "\xff\xfe<\x00s\x00v\x00g\x00",
		"a packed SVG": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "a page": "<!DOCTYPE html><script>alert(1)</script>", "a page before a picture": "<html>" + string(png), "a line before a picture": "\n" + string(png),
		"a picture in base64": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "a data: URL": "data:image/png;base64,iVBORw0KGgo=",
		"a PDF": "%PDF-1.7\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj", "a PDF after some bytes": strings.Repeat("x", 900) + "%PDF-1.4", "a PDF before a JPEG": "%PDF-1.4\n" + string(JPEG(20, 20)),
		"an archive before a picture": "PK\x03\x04" + string(png), "a TIFF": "II*\x00\x08\x00\x00\x00\x00\x00", "a TIFF of the other order": "MM\x00*\x00\x00\x00\x08", "a large TIFF": "II+\x00\x08\x00\x00\x00", "an icon": "\x00\x00\x01\x00\x01\x00\x10\x10",
		"a HEIC": "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "an AVIF": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00", "a JPEG XL": "\xff\x0a\x00\x00", "a JPEG XL in a box": "\x00\x00\x00\x0cJXL \x0d\x0a\x87\x0a", "a JPEG 2000": "\x00\x00\x00\x0cjP  \x0d\x0a\x87\x0a",
		"a Photoshop file": "8BPS\x00\x01", "a PostScript file": "%!PS-Adobe-3.0 EPSF-3.0", "a PNM": "P6\n100000 100000\n255\n", "an XPM": "/* XPM */\nstatic char *a[] = {", "ImageMagick's script": "push graphic-context\nviewbox 0 0 1 1\nfill 'url(https://127.0.0.1/|id)'\npop graphic-context",
		"a playlist": "#EXTM3U\n#EXTINF:10.0,\nfile:///etc/passwd\n", "a video": "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00", "a video of Matroska's": "\x1aE\xdf\xa3\x01\x00\x00\x00", "an AVI": "RIFF\x24\x00\x00\x00AVI LIST", "an animated cursor": "RIFF\x24\x00\x00\x00ACONanih",
		"a program": "\x7fELF\x02\x01\x01\x00", "a program of Windows": "MZ\x90\x00\x03", "a WebAssembly module": "\x00asm\x01\x00\x00\x00", "a model": "GGUF\x03\x00\x00\x00", "a pickle": "\x80\x04\x95\x00\x00cos\nsystem\n", "a 7z": "7z\xbc\xaf\x27\x1c", "an office document": "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
	} {
		m.picture("what is "+name, data)
	}
	for name, data := range map[string]any{
		"Ogg": "OggS\x00\x02", "FLAC": "fLaC\x00\x00\x00\x22", "AAC": "\xff\xf1\x50\x80", "an M4A": "\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00", "an AIFF": "FORM\x00\x00\x00\x2eAIFFCOMM", "AU": ".snd\x00\x00\x00\x18", "AMR": "#!AMR\n", "a MIDI": "MThd\x00\x00\x00\x06",
		"a WMA": "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a picture": png, "samples alone": make([]byte, 4000),
	} {
		m.sound("what is "+name, data)
	}
}
