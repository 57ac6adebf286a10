// SPDX-License-Identifier: MIT

// Package svg draws the pictures that programs write into the documents: words and rectangles,
// readable on light and on dark pages.
package svg

import (
	"fmt"
	"html"
	"strings"
)

// Width of all pictures, in pixels.
const Width = 760

// Picture is a picture that is being drawn, below its title. Classes of its words and rectangles
// are the palette's and "quiet".
type Picture struct {
	Title   string
	Palette []Colour
	Style   string // further rules of CSS
	body    strings.Builder
}

// Colour is what a class is filled with.
type Colour struct{ Class, Light, Dark string }

// Text writes words from x on; y is their base line.
func (p *Picture) Text(x, y int, class, words string) {
	fmt.Fprintf(&p.body, "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, html.EscapeString(words))
}

// Rectangle fills a rectangle whose upper left corner is at x and y.
func (p *Picture) Rectangle(x, y, width, height int, class string) {
	fmt.Fprintf(&p.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n", x, y, width, height, class)
}

// SVG is the picture with what says it to those who cannot see it.
func (p *Picture) SVG(height int, description string) string {
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\" aria-labelledby=\"title words\">\n"+
		"<title id=\"title\">%s</title>\n<desc id=\"words\">%s</desc>\n%s<text x=\"0\" y=\"20\" class=\"title\">%[3]s</text>\n%[6]s</svg>\n",
		Width, height, html.EscapeString(p.Title), html.EscapeString(description), p.style(), p.body.String())
}

func (p *Picture) style() string {
	var light, dark strings.Builder
	for _, c := range append([]Colour{{"quiet", "#59636e", "#9198a1"}}, p.Palette...) {
		fmt.Fprintf(&light, ".%s { fill: %s }\n", c.Class, c.Light)
		fmt.Fprintf(&dark, ".%s { fill: %s }\n", c.Class, c.Dark)
	}
	return "<style>\n" +
		"text { font: 13px system-ui, sans-serif; fill: #1f2328 }\n.title { font-size: 17px; font-weight: 600 }\n" +
		p.Style + light.String() +
		"@media (prefers-color-scheme: dark) {\ntext { fill: #e6edf3 }\n" + dark.String() + "}\n</style>\n"
}
