// SPDX-License-Identifier: MIT

// Package mediatest makes files that no server should trust, for tests.
package mediatest

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// File is a file that a server must refuse.
type File struct {
	Name  string
	Sound bool // it is sent as a sound
	Data  []byte
}

// The bounds of the servers that the files are for: their bombs are just above these, or far.
const (
	Pixels  = 1 << 20
	Seconds = 20
	Memory  = 24 << 20 // bytes
)

// Hostile are some hundreds of files: cut off, with headers that lie, bombs, files of two kinds,
// and files that are neither picture nor sound. Nobody changes them.
var Hostile = sync.OnceValue(func() []File {
	m := maker{}
	m.cutOff()
	m.pngs()
	m.jpegs()
	m.gifs()
	m.webps()
	m.bmps()
	m.wavs()
	m.mp3s()
	m.strangers()
	return m.files
})

type maker struct{ files []File }

// picture adds a file that is sent as a picture.
func (m *maker) picture(name string, parts ...any) {
	m.files = append(m.files, File{Name: name, Data: joined(parts)})
}

func (m *maker) sound(name string, parts ...any) {
	m.files = append(m.files, File{Name: name, Sound: true, Data: joined(parts)})
}

// joined writes texts and bytes as they stand, and numbers in little endian by their size.
func joined(parts []any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p...)
		case []byte:
			out = append(out, p...)
		case uint8, uint16, uint32, uint64:
			var err error
			if out, err = binary.Append(out, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		default:
			panic(fmt.Sprintf("a part of a file is %T", p))
		}
	}
	return out
}

// cutOff adds what is left of good files. An MP3 has no end that it could lack, so there is none.
func (m *maker) cutOff() {
	good := map[string][]byte{"PNG": PNG(60, 40), "JPEG": JPEG(60, 40), "GIF": GIF(60, 40), "BMP": BMP(60, 40), "lossy WebP": Lossy(),
		"lossless WebP": Lossless()}
	for name, data := range good {
		for tenths := range 10 {
			m.picture(fmt.Sprintf("%s cut off at %d/10", name, tenths), data[:len(data)*tenths/10])
		}
		for _, n := range []int{1, 2, 3, 7, 11, 12, 13, 20, 25, 29} {
			m.picture(fmt.Sprintf("%s of %d bytes", name, n), data[:n])
		}
	}
	wav := WAV(8000, 1, make([]byte, 2000))
	for tenths := range 10 {
		m.sound(fmt.Sprintf("WAV cut off at %d/10 of its header", tenths), wav[:44*tenths/10])
	}
	for _, n := range []int{1, 4, 8, 11, 12, 16, 20, 36, 43, 44, 45} {
		m.sound(fmt.Sprintf("WAV of %d bytes", n), wav[:n])
	}
}
