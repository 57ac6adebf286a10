// SPDX-License-Identifier: MIT

// Package sound decodes sound of untrusted files to mono samples of a given rate, within bounds
// that are known before a sample is read.
//
// # Notes
//
//   - WAV is read here: whole numbers of 8, 16, 24 and 32 bits, floats of 32 and 64, A-law and
//     µ-law. One that was written as a stream, or that is cut off, ends where its bytes do. MP3
//     (MPEG 1 and 2, layer III) is decoded by github.com/hajimehoshi/go-mp3, in Go alone; what
//     stands before its first frame is left out.
//   - Channels are mixed by their mean. Another rate is reached through a low-pass, so that what
//     the new rate cannot have is not heard as something else.
//   - No more than the result and some blocks are in memory, however long the source is.
//
// # Errors
//
// They say what is wrong with a file and what to do, in words that follow its name: "is a WAV of
// …".
//
// # Why is MP3 decoded by go-mp3?
//
// It is the one decoder in pure Go that others use widely (Ebitengine's sound), under the Apache
// licence. It is given the frames alone: it would allocate what a tag before them says it has. It
// reads MPEG 1 and 2; MPEG 2.5, which has rates below 16 kHz, is refused.
//
// It has two faults, and is archived. FrameHeader.FrameSize adds the padding of MPEG 2 before it
// halves the size, so that it is lost where 144 × bit rate ÷ rate is even: at 22,050 Hz, and half
// of the bit rates. Frame.stereo ends at the last line that is not 0, but short blocks have been
// put in order before, which moves lines beyond that. With both mended, five files of LAME that are
// wrong have miniaudio's samples. docs/media.md says which files are wrong. Neither can be mended
// outside of it, and a decoder in C would read what a client sends.
package sound

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/penstock/penstock/scheduler/panics"
)

// Samples are a sound: one channel, from -1 to 1.
type Samples struct {
	Rate int // Hz
	Mono []float32
}

// File is a sound whose header was read.
type File struct {
	Format string // WAV or MP3
	Memory int64  // bytes that Decode takes at most, its result included

	rate   int
	most   time.Duration
	source source
}

// source gives a file's samples, block by block.
type source interface {
	// open reads up to the first samples, and gives the rate they have.
	open() (rate int, err error)
	// next is the next block, mixed to one channel; empty: the sound has ended. It is valid until
	// the next call.
	next() ([]float32, error)
}

// The rates that a file may have, in Hz.
const (
	minRate = 1000
	maxRate = 384000
)

// FormatOf is the format that a file has by its first bytes; "" if none that is decoded here.
func FormatOf(data []byte) string {
	switch {
	case isWAV(data):
		return "WAV"
	case isMP3(data), afterJunk(data) >= 0:
		return "MP3"
	}
	return ""
}

// Open reads the header of a sound that is to have a rate in Hz and may last as long as most.
func Open(data []byte, rate int, most time.Duration) (*File, error) {
	f := &File{Format: FormatOf(data), rate: rate, most: most}
	switch f.Format {
	case "WAV":
		w, err := readWAV(data)
		if err != nil {
			return nil, fmt.Errorf("is a WAV that cannot be read: %w", err)
		}
		if lasts := w.lasts(); lasts > most {
			return nil, f.tooLong(lasts.Round(time.Millisecond).String())
		}
		f.source, f.Memory = w, bytesFor(w.frames(), w.rate, rate)
	case "MP3":
		m := newMP3(data)
		samples := min(m.mostSamples(), int64(most.Seconds()*mp3MaxRate)+1)
		f.source, f.Memory = m, bytesFor(samples, mp3MinRate, rate)
	default:
		return nil, errors.New("is no sound of a format that is read here: WAV or MP3")
	}
	return f, nil
}

// bytesFor estimates what samples take at another rate, with the blocks and the low-pass on the
// way: they are appended one by one.
func bytesFor(samples int64, from, to int) int64 {
	return int64(float64(samples)*float64(to)/float64(from)+1)*4*9/4 + 4<<20
}

func (f *File) tooLong(lasts string) error {
	return fmt.Errorf("is a %s that lasts %s; at most %s are taken (media.sound_length): cut it into parts", f.Format, lasts, f.most)
}

// Decode decodes the samples. It calls rest every now and then, which may wait. When ctx is done it
// ends soon, with its cause.
func (f *File) Decode(ctx context.Context, rest func()) (Samples, error) {
	out := Samples{Rate: f.rate}
	err := panics.Try(func() (err error) {
		out.Mono, err = f.read(ctx, rest)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return Samples{}, context.Cause(ctx)
	case errors.Is(err, errTooLong):
		return Samples{}, f.tooLong("longer")
	case err != nil:
		return Samples{}, fmt.Errorf("is a %s that cannot be decoded: %w; it is damaged, cut off or of a rare kind: save it again, as WAV", f.Format, err)
	case len(out.Mono) == 0:
		return Samples{}, fmt.Errorf("is a %s without a sound", f.Format)
	}
	return out, nil
}

var errTooLong = errors.New("too long")

func (f *File) read(ctx context.Context, rest func()) ([]float32, error) {
	from, err := f.source.open()
	if err != nil {
		return nil, err
	}
	r := newResampler(from, f.rate)
	left := int64(f.most.Seconds() * float64(from))
	for {
		rest()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		block, err := f.source.next()
		if err != nil {
			return nil, err
		}
		if len(block) == 0 {
			return r.end(), nil
		}
		if left -= int64(len(block)); left < 0 {
			return nil, errTooLong
		}
		r.add(block)
	}
}

// resampler turns samples of one rate into those of another by a sinc with Kaiser's window, as
// "Digital Audio Resampling" (J. O. Smith) has it: each sample of the result is a weighted sum of
// the samples around its time. The library that does this well is written in C.
type resampler struct {
	from, to int
	reach    int       // how many samples on either side count
	kernel   []float32 // weights at distances of 1/ticks samples, from 0 to reach

	source []float32 // what is still needed, after reach zeros at the beginning
	first  int64     // the number of source[0], of which the first is -reach
	index  int64     // of the next sample of the result: its time is index + part/to samples
	part   int64
	out    []float32
}

const (
	// crossings is how many zeros of the sinc count on either side. Together with the window's
	// shape it makes the low-pass 80 dB deep and a sixth of the band wide.
	crossings = 32
	kaiser    = 7.86 // the window's shape, for 80 dB
	ticks     = 512
	passed    = 0.92 // the middle of the slope, in parts of the lower of the two bands
)

func newResampler(from, to int) *resampler {
	r := &resampler{from: from, to: to}
	if from == to {
		return r
	}
	band := passed * min(1, float64(to)/float64(from))
	r.reach = int(math.Ceil(crossings / band))
	r.kernel = make([]float32, r.reach*ticks+2)
	top := bessel(kaiser)
	for i := range r.kernel {
		t := float64(i) / ticks
		if x := t / float64(r.reach); x < 1 {
			r.kernel[i] = float32(band * sinc(band*t) * bessel(kaiser*math.Sqrt(1-x*x)) / top)
		}
	}
	r.source, r.first = make([]float32, r.reach), -int64(r.reach)
	return r
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel is the modified Bessel function of the first kind and order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-12*sum; k++ {
		term *= (x / (2 * k)) * (x / (2 * k))
		sum += term
	}
	return sum
}

// add takes more samples.
func (r *resampler) add(block []float32) {
	if r.from == r.to {
		r.out = append(r.out, block...)
		return
	}
	r.source = append(r.source, block...)
	r.emit(r.first + int64(len(r.source)) - int64(r.reach))
	if drop := r.index - int64(r.reach) - r.first; drop > 0 { // they are too far behind
		drop = min(drop, int64(len(r.source)))
		r.source = r.source[:copy(r.source, r.source[drop:])]
		r.first += drop
	}
}

// end is the whole result.
func (r *resampler) end() []float32 {
	if r.from == r.to {
		return r.out
	}
	last := r.first + int64(len(r.source))
	r.source = append(r.source, make([]float32, r.reach)...)
	r.emit(last)
	return r.out
}

// emit computes the samples whose time is before that of a source sample. All that count for them
// are there.
func (r *resampler) emit(before int64) {
	for r.index < before {
		r.out = append(r.out, r.at())
		r.part += int64(r.from)
		r.index += r.part / int64(r.to)
		r.part %= int64(r.to)
	}
}

// at is the sample of the result at the time index + part/to.
func (r *resampler) at() float32 {
	var sum float32
	behind := float64(r.part) / float64(r.to) // of the time, after the source sample at index
	at := int(r.index - r.first)
	sum += r.side(r.source[:at+1], behind, -1)
	return sum + r.side(r.source[at+1:], 1-behind, 1)
}

// side weighs the samples on one side of a time: the nearest is that far away, and each further
// one a sample more.
func (r *resampler) side(samples []float32, distance float64, direction int) float32 {
	var sum float32
	i := 0
	if direction < 0 {
		i = len(samples) - 1
	}
	for d := distance * ticks; d < float64(r.reach*ticks) && i >= 0 && i < len(samples); d += ticks {
		k := int(d)
		share := float32(d - float64(k))
		sum += samples[i] * (r.kernel[k]*(1-share) + r.kernel[k+1]*share)
		i += direction
	}
	return sum
}
