// SPDX-License-Identifier: MIT

package picture

// Within is the size of the picture scaled so that its longer side has at most so many pixels. It
// never grows.
func (p RGB) Within(side int) (width, height int) {
	longer := max(p.Width, p.Height)
	if longer <= side {
		return p.Width, p.Height
	}
	scale := func(n int) int { return (n*side + longer - 1) / longer } // rounded up, so that a strip does not become longer in proportion
	return scale(p.Width), scale(p.Height)
}

// Scaled is the picture with fewer pixels: each is the mean of those that it stands for. Neither
// size may be larger than before.
func (p RGB) Scaled(width, height int) RGB {
	out := RGB{Width: width, Height: height, Pixels: make([]byte, 3*width*height)}
	for y := range height {
		top, bottom := y*p.Height/height, (y+1)*p.Height/height
		for x := range width {
			left, right := x*p.Width/width, (x+1)*p.Width/width
			var sum [3]uint64
			for row := top; row < bottom; row++ {
				for _, at := range [3]int{0, 1, 2} {
					for i := 3*(row*p.Width+left) + at; i < 3*(row*p.Width+right); i += 3 {
						sum[at] += uint64(p.Pixels[i])
					}
				}
			}
			n := uint64((bottom - top) * (right - left))
			for at, s := range sum {
				out.Pixels[3*(y*width+x)+at] = byte((s + n/2) / n)
			}
		}
	}
	return out
}
