// SPDX-License-Identifier: MIT

package sound

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

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

// WAV's formats of samples.
const (
	formatPCM        = 1
	formatFloat      = 3
	formatALaw       = 6
	formatMuLaw      = 7
	formatExtensible = 0xfffe // the real one stands further on
)

const (
	maxChannels = 32
	blockFrames = 4096 // that are decoded at a time
)

// wav is a WAV file: frames of one sample a channel.
type wav struct {
	rate, channels int
	sample         func([]byte) float32 // reads one
	width          int                  // bytes of one
	data           []byte               // frames that are not read yet
	block          []float32
}

func isWAV(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WAVE"
}

// readWAV finds the format and the samples.
func readWAV(data []byte) (*wav, error) {
	w := &wav{}
	for chunks := data[12:]; len(chunks) >= 8; {
		name, n := string(chunks[:4]), int64(binary.LittleEndian.Uint32(chunks[4:]))
		content := chunks[8:]
		switch {
		case name == "data" && w.sample == nil:
			return nil, errors.New("its samples come before their format")
		case name == "data" && (n == 0 || n > int64(len(content))): // it was written as a stream, in which programs write 7FFFF000, FFFFFFFF and others, or is cut off
			w.data = content
			return w, w.check()
		case n > int64(len(content)):
			return nil, fmt.Errorf("its part %q says it has %d bytes, and %d follow: it is cut off, or its header is wrong", name, n, len(content))
		case name == "data":
			w.data = content[:n]
			return w, w.check()
		case name == "fmt ":
			if err := w.format(content[:n]); err != nil {
				return nil, err
			}
		}
		chunks = content[min(n+n%2, int64(len(content))):]
	}
	return nil, errors.New("it has no samples")
}

// format reads how samples are written.
func (w *wav) format(fmtChunk []byte) error {
	if len(fmtChunk) < 16 {
		return errors.New("its format is cut off")
	}
	kind := binary.LittleEndian.Uint16(fmtChunk)
	w.channels, w.rate = int(binary.LittleEndian.Uint16(fmtChunk[2:])), int(binary.LittleEndian.Uint32(fmtChunk[4:]))
	align, bits := int(binary.LittleEndian.Uint16(fmtChunk[12:])), int(binary.LittleEndian.Uint16(fmtChunk[14:]))
	if kind == formatExtensible && len(fmtChunk) >= 26 {
		kind = binary.LittleEndian.Uint16(fmtChunk[24:])
	}
	w.width = bits / 8
	w.sample = sampleReader(kind, bits)
	switch {
	case w.sample == nil:
		return fmt.Errorf("its samples are of kind %d with %d bits; whole numbers (kind 1) of 8, 16, 24 and 32 bits, floats (kind 3) of 32 and 64, A-law (kind 6) and µ-law (kind 7) are read here", kind, bits)
	case w.channels < 1 || w.channels > maxChannels:
		return fmt.Errorf("it has %d channels; 1 to %d are read here", w.channels, maxChannels)
	case w.rate < minRate || w.rate > maxRate:
		return fmt.Errorf("its rate is %d Hz; %d to %d are read here", w.rate, minRate, maxRate)
	case align != w.channels*w.width:
		return fmt.Errorf("it says that %d channels of %d bits take %d bytes", w.channels, bits, align)
	}
	return nil
}

// sampleReader reads one sample of a kind; nil: none here does.
func sampleReader(kind uint16, bits int) func([]byte) float32 {
	switch {
	case kind == formatPCM && bits == 8:
		return func(b []byte) float32 { return float32(int(b[0])-128) / 128 }
	case kind == formatPCM && bits == 16:
		return func(b []byte) float32 { return float32(int16(binary.LittleEndian.Uint16(b))) / (1 << 15) }
	case kind == formatPCM && bits == 24:
		return func(b []byte) float32 {
			return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
		}
	case kind == formatPCM && bits == 32:
		return func(b []byte) float32 { return float32(int32(binary.LittleEndian.Uint32(b))) / (1 << 31) }
	case kind == formatALaw && bits == 8:
		return func(b []byte) float32 { return float32(alaw(b[0])) / (1 << 15) }
	case kind == formatMuLaw && bits == 8:
		return func(b []byte) float32 { return float32(mulaw(b[0])) / (1 << 15) }
	case kind == formatFloat && bits == 32:
		return func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case kind == formatFloat && bits == 64:
		return func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	}
	return nil
}

// alaw is a sample by G.711's A-law: a sign, an exponent of three bits and a mantissa of four, of
// which every second bit is inverted.
func alaw(b byte) int {
	b ^= 0x55
	exponent, sample := b>>4&7, int(b&15)<<4+8
	if exponent > 0 {
		sample = (sample + 0x100) << (exponent - 1)
	}
	if b&0x80 == 0 {
		return -sample
	}
	return sample
}

// mulaw is a sample by G.711's µ-law, all bits of which are inverted.
func mulaw(b byte) int {
	const bias = 0x84
	b = ^b
	sample := (int(b&15)<<3+bias)<<(b>>4&7) - bias
	if b&0x80 != 0 {
		return -sample
	}
	return sample
}

func (w *wav) check() error {
	if w.frames() == 0 {
		return errors.New("it has no samples")
	}
	return nil
}

func (w *wav) frames() int64 { return int64(len(w.data) / (w.channels * w.width)) }

func (w *wav) lasts() time.Duration {
	return time.Duration(float64(w.frames()) / float64(w.rate) * float64(time.Second))
}

func (w *wav) open() (int, error) { return w.rate, nil }

func (w *wav) next() ([]float32, error) {
	w.block = w.block[:0]
	frame := w.channels * w.width
	for len(w.data) >= frame && len(w.block) < blockFrames {
		var sum float32
		for c := range w.channels {
			s := w.sample(w.data[c*w.width:])
			if s != s {
				return nil, errors.New("one of its samples is no number")
			}
			sum += max(-1, min(1, s))
		}
		w.block = append(w.block, sum/float32(w.channels))
		w.data = w.data[frame:]
	}
	return w.block, nil
}
