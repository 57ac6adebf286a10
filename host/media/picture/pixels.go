// SPDX-License-Identifier: MIT

package picture

import (
	"context"
	"fmt"
	"image"
)

// flatten writes what was decoded as upright RGB over white. A picture that does not fill its
// canvas, as a frame of a GIF, has white around it.
func (f *File) flatten(ctx context.Context, rest func(), from image.Image) (RGB, error) {
	at, ok := from.(image.RGBA64Image)
	if !ok {
		return RGB{}, fmt.Errorf("its pixels are %T, which are not known here", from)
	}
	out := RGB{Width: f.Width, Height: f.Height, Pixels: make([]byte, 3*f.Width*f.Height)}
	width, height := f.orientation.shown(f.Width, f.Height) // as stored: turning twice is none
	origin, right, down := f.orientation.steps(f.Width, f.Height)
	bounds := from.Bounds()
	if bounds.Dx() != width || bounds.Dy() != height {
		for i := range out.Pixels {
			out.Pixels[i] = 0xff
		}
	}
	bounds = bounds.Intersect(image.Rect(0, 0, width, height))
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		rest()
		if ctx.Err() != nil {
			return RGB{}, context.Cause(ctx)
		}
		to := 3 * (origin + y*down + bounds.Min.X*right)
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at.RGBA64At(x, y) // premultiplied, so white fills up what alpha leaves
			white := 0xffff - uint32(c.A)
			p := out.Pixels[to : to+3 : to+3]
			p[0], p[1], p[2] = byte((uint32(c.R)+white)>>8), byte((uint32(c.G)+white)>>8), byte((uint32(c.B)+white)>>8)
			to += 3 * right
		}
	}
	return out, nil
}
