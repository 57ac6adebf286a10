// SPDX-License-Identifier: MIT

package schedulertest

import "time"

// Measured is the cost of a pass by its number of tokens, as llama.cpp had it for a 135M Llama on
// two cores with four generating sequences beside one that prefills (milliseconds, medians).
var Measured = Curve{{1, 6}, {4, 20.7}, {20, 55}, {36, 107}, {68, 199}, {132, 321}, {260, 606}, {516, 1000}, {2064, 4000}}

// Curve gives milliseconds at some token counts; between them it is linear.
type Curve [][2]float64

// Cost is the time of a pass of n tokens, whatever they attend to.
func (c Curve) Cost(n, _ int) time.Duration {
	x := float64(n)
	last := c[len(c)-1]
	ms := last[1] / last[0] * x
	for i := 1; i < len(c); i++ {
		if a, b := c[i-1], c[i]; x <= b[0] {
			ms = a[1] + (b[1]-a[1])*(x-a[0])/(b[0]-a[0])
			break
		}
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// Deep is the cost of a pass with flash attention on another machine, where what a token attends
// to matters: much in passes below 64 tokens, less above, which have another kernel.
func Deep(n, cells int) time.Duration {
	flat := Curve{{1, 7}, {4, 26}, {8, 32}, {20, 57}, {36, 88}, {64, 115}, {128, 222}, {512, 1080}}.Cost(n, 0)
	cell := 5.7 * float64(time.Microsecond)
	if n >= 64 {
		cell = 1.7 * float64(time.Microsecond)
	}
	return flat + time.Duration(cell*float64(cells))
}
