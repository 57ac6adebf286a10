// SPDX-License-Identifier: MIT

package models

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// PNG paints the drawing, with smooth edges.
func (d Drawing) PNG() []byte {
	m := image.NewNRGBA(image.Rect(0, 0, d.Width, d.Height))
	for y := range d.Height {
		for x := range d.Width {
			rgb := d.paper
			for _, t := range d.Things {
				alpha := min(1, max(0, 0.5-t.distance(float64(x)+0.5-t.X, float64(y)+0.5-t.Y)))
				for i := range rgb {
					rgb[i] += alpha * (t.rgb[i] - rgb[i])
				}
			}
			m.SetNRGBA(x, y, color.NRGBA{uint8(math.Round(rgb[0])), uint8(math.Round(rgb[1])), uint8(math.Round(rgb[2])), 255})
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	_ = encoder.Encode(&out, m) // a buffer takes everything
	return out.Bytes()
}

// distance is how far outside of the thing a point is, relative to its centre; negative inside.
func (t Thing) distance(x, y float64) float64 {
	if math.Hypot(x, y) > 1.7*t.Size+4 {
		return 1
	}
	sin, cos := math.Sincos(t.turn)
	x, y = cos*x+sin*y, cos*y-sin*x
	switch {
	case t.stroke != nil:
		return t.fromStroke(x, y) - t.pen*t.Size
	case t.Shape == "circle":
		return math.Hypot(x, y) - t.Size
	case t.Shape == "square":
		return max(math.Abs(x), math.Abs(y)) - 0.9*t.Size
	}
	y -= 0.15 * t.Size // a triangle
	return max(0.866*math.Abs(x)-0.5*y, y) - 0.6*t.Size
}

// fromStroke is how far a point is from the pen's way.
func (t Thing) fromStroke(x, y float64) float64 {
	near := math.Inf(1)
	for i, b := range t.stroke[1:] {
		ax, ay := t.stroke[i][0]*t.Size, t.stroke[i][1]*t.Size
		dx, dy := b[0]*t.Size-ax, b[1]*t.Size-ay
		along := min(1, max(0, ((x-ax)*dx+(y-ay)*dy)/(dx*dx+dy*dy)))
		near = min(near, math.Hypot(x-ax-along*dx, y-ay-along*dy))
	}
	return near
}
