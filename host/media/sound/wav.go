// SPDX-License-Identifier: MIT

package sound

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

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
