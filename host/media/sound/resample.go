// SPDX-License-Identifier: MIT

package sound

import "math"

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
