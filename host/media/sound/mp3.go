// SPDX-License-Identifier: MIT

package sound

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hajimehoshi/go-mp3"
)

// What an MP3 of the versions that are decoded can have.
const (
	mp3MinRate = 16000 // Hz
	mp3MaxRate = 48000
	// mp3Samples is how many samples a byte can stand for: the shortest frame of MPEG 2 has 24
	// bytes and 576 samples.
	mp3Samples = 24
)

// mpeg is an MP3 file.
type mpeg struct {
	data    []byte // the frames, without the tags around them
	decoder *mp3.Decoder
	bytes   [4 * blockFrames]byte // of the decoder: two channels of 16 bits
	block   []float32
}

// isMP3 reports whether a file begins with a tag of ID3, or with the header of a frame of layer
// III.
func isMP3(data []byte) bool {
	return bytes.HasPrefix(data, []byte("ID3")) || isFrame(data)
}

// mostJunk bounds the bytes before the first frame of a file that begins with something else, as a
// recording of a stream does.
const mostJunk = 64 << 10

// afterJunk finds where the frames begin of a file that may begin with something else; -1: there
// are none. A header is three bytes that any file may have, so three frames of one version and
// rate must follow each other.
func afterJunk(data []byte) int {
	for at := range min(len(data), mostJunk) {
		rest, frames := data[at:], 0
		for ; frames < 3; frames++ {
			n := frameLength(rest)
			if n == 0 || n > len(rest) || rest[1]&^1 != data[at+1]&^1 || rest[2]&0x0c != data[at+2]&0x0c {
				break
			}
			rest = rest[n:]
		}
		if frames == 3 {
			return at
		}
	}
	return -1
}

// Bit rates of layer III in 1000 bits a second, and rates in Hz, of MPEG 1; those of MPEG 2 are
// half as many Hz.
var (
	bitRates1 = [15]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	bitRates2 = [15]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	mp3Rates  = [3]int{44100, 48000, 32000}
)

// frameLength is how many bytes the frame has that begins here; 0: none of MPEG 1 or 2 does, or it
// does not say.
func frameLength(data []byte) int {
	if !isFrame(data) || data[1]&0x18 == 0 || data[2]>>4 == 0 {
		return 0
	}
	padding := int(data[2] >> 1 & 1)
	rate := mp3Rates[data[2]>>2&3]
	if data[1]&0x18 == 0x18 {
		return 144000*bitRates1[data[2]>>4]/rate + padding
	}
	return 144000*bitRates2[data[2]>>4]/rate + padding // 72 for each bit, of half the rate
}

// isFrame reports whether a frame's header begins here.
func isFrame(data []byte) bool {
	return len(data) >= 4 && data[0] == 0xff && data[1]&0xe6 == 0xe2 && // its beginning, and the layer
		data[1]&0x18 != 0x08 && data[2]>>4 != 15 && data[2]&0x0c != 0x0c // no reserved version, bit rate or rate
}

// newMP3 leaves out the tags: the decoder would take memory for whatever length one says it has.
func newMP3(data []byte) *mpeg {
	for {
		n := id3Length(data)
		if n == 0 {
			break
		}
		data = data[min(n, len(data)):]
	}
	data = data[max(0, afterJunk(data)):]
	if n := len(data) - 128; n >= 0 && string(data[n:n+3]) == "TAG" {
		data = data[:n]
	}
	return &mpeg{data: data}
}

// id3Length is how many bytes the tag has that a file begins with; 0: there is none.
func id3Length(data []byte) int {
	if len(data) < 10 || string(data[:3]) != "ID3" {
		return 0
	}
	n := 10
	for i, b := range data[6:10] {
		n += int(b&0x7f) << (7 * (3 - i))
	}
	if data[5]&0x10 != 0 { // it ends with its header once more
		n += 10
	}
	return n
}

func (m *mpeg) mostSamples() int64 { return mp3Samples * int64(len(m.data)+1) }

func (m *mpeg) open() (int, error) {
	if !isMP3(m.data) {
		if len(m.data) == 0 {
			return 0, errors.New("it has a tag and no sound")
		}
		// The decoder looks for a frame further on, as there may be padding after a tag.
	}
	var err error
	// Without a Seek the decoder does not read the file twice.
	if m.decoder, err = mp3.NewDecoder(struct{ io.Reader }{bytes.NewReader(m.data)}); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it has no frame of MPEG 1 or 2, layer III")
		}
		return 0, err
	}
	if rate := m.decoder.SampleRate(); rate < mp3MinRate || rate > mp3MaxRate {
		return 0, fmt.Errorf("its rate is %d Hz; %d to %d are read here", rate, mp3MinRate, mp3MaxRate)
	}
	return m.decoder.SampleRate(), nil
}

func (m *mpeg) next() ([]float32, error) {
	n, err := io.ReadFull(m.decoder, m.bytes[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	m.block = m.block[:0]
	for b := m.bytes[:n]; len(b) >= 4; b = b[4:] {
		left, right := int16(binary.LittleEndian.Uint16(b)), int16(binary.LittleEndian.Uint16(b[2:]))
		m.block = append(m.block, (float32(left)+float32(right))/(1<<16))
	}
	return m.block, nil
}
