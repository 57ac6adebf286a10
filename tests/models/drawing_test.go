// SPDX-License-Identifier: MIT

package models

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
)

// World has the names and colours of what is drawn: world.json of the trainer. It is the small
// world that the built-in model which sees was trained on. A World draws as
// tools/tinymodel/drawings.py does, at the size of a person's drawing and with numbers of its own,
// so no drawing was trained on.
type World struct {
	Colors  map[string][][3]float64 `json:"colors"`
	Gray    [][3]float64            `json:"gray"`
	Shapes  []string                `json:"shapes"`
	Numbers []string                `json:"numbers"` // by how many there are
	Digits  map[string][][2]float64 `json:"digits"`  // points of a pen's way, for a size of 1; y grows downwards
	Pen     float64                 `json:"pen"`     // half of its width

	names, digits []string // of Colors and Digits, sorted
}

// openWorld reads a world from its file.
func openWorld(path string) (*World, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w := &World{}
	if err := json.Unmarshal(data, w); err != nil {
		return nil, err
	}
	w.names, w.digits = slices.Sorted(maps.Keys(w.Colors)), slices.Sorted(maps.Keys(w.Digits))
	return w, nil
}

// Thing is a shape or a digit. Places and sizes are in pixels, the turn is in radians.
type Thing struct {
	Shape, Color string
	X, Y, Size   float64

	turn   float64
	rgb    [3]float64
	stroke [][2]float64 // of a digit
	pen    float64
}

// Name is its colour and shape.
func (t Thing) Name() string { return t.Color + " " + t.Shape }

// Drawing is a picture before it is painted.
type Drawing struct {
	Things        []Thing
	Background    string
	Width, Height int
	paper         [3]float64
}

// Kind is what a drawing is good to ask about.
type Kind int

// The kinds: one to five shapes of few kinds, two or three different ones, and one digit.
const (
	Many Kind = iota
	Few
	Digit
)

// Draw makes a drawing. The same state of r gives the same one.
func (w *World) Draw(r *rand.Rand, kind Kind) Drawing {
	for {
		d := Drawing{Width: 200 + r.IntN(300)}
		d.Height = d.Width * (66 + r.IntN(35)) / 100
		if r.IntN(2) == 0 {
			d.Height = d.Width
		}
		d.paperOf(w, r)
		unit := float64(d.Width) / 80 * math.Sqrt(float64(d.Height)/float64(d.Width))
		switch kind {
		case Many:
			d.many(w, r, unit)
		case Few:
			d.few(w, r, unit)
		case Digit:
			d.digit(w, r, unit)
		}
		if d.place(r) {
			return d
		}
	}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// mix is a colour between two that have one name.
func mix(r *rand.Rand, of [][3]float64) (rgb [3]float64) {
	a, b, t := pick(r, of), pick(r, of), r.Float64()
	t *= t
	for i := range rgb {
		rgb[i] = min(255, max(0, a[i]+(b[i]-a[i])*t+between(r, -12, 12)))
	}
	return rgb
}

func (d *Drawing) paperOf(w *World, r *rand.Rand) {
	switch k := r.Float64(); {
	case k < 0.7:
		d.Background = "white"
	case k < 0.85:
		d.Background = "black"
	default:
		d.Background, d.paper = "gray", mix(r, w.Gray)
		return
	}
	d.paper = mix(r, w.Colors[d.Background])
}

// color takes a colour that can be told from the paper.
func (d *Drawing) color(w *World, r *rand.Rand, among []string) (name string, rgb [3]float64) {
	for {
		name = pick(r, among)
		rgb = mix(r, w.Colors[name])
		far := 0.0
		for i := range rgb {
			far += math.Abs(rgb[i] - d.paper[i])
		}
		if far > 130 && name != d.Background {
			return name, rgb
		}
		among = w.names
	}
}

func (d *Drawing) many(w *World, r *rand.Rand, unit float64) {
	shapes, colors := []string{pick(r, w.Shapes), pick(r, w.Shapes)}, []string{pick(r, w.names), pick(r, w.names)}
	size := between(r, 6.5, 10) * unit
	for range 1 + r.IntN(len(w.Numbers)-1) {
		t := Thing{Shape: pick(r, shapes), Size: size * between(r, 0.88, 1.12), turn: tilt(r)}
		t.Color, t.rgb = d.color(w, r, colors)
		d.Things = append(d.Things, t)
	}
}

func (d *Drawing) few(w *World, r *rand.Rand, unit float64) {
	for _, i := range r.Perm(len(w.Shapes))[:2+r.IntN(2)] {
		t := Thing{Shape: w.Shapes[i], Size: between(r, 7.5, 15) * unit, turn: tilt(r)}
		t.Color, t.rgb = d.color(w, r, w.names)
		d.Things = append(d.Things, t)
	}
}

func (d *Drawing) digit(w *World, r *rand.Rand, unit float64) {
	t := Thing{Shape: pick(r, w.digits), Size: between(r, 12, 28) * unit, turn: tilt(r), pen: w.Pen}
	t.stroke = w.Digits[t.Shape]
	t.Color, t.rgb = d.color(w, r, w.names)
	d.Things = append(d.Things, t)
}

func tilt(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return 0
	}
	return between(r, -0.25, 0.25)
}

// place puts the things where they do not touch; false if there is no room.
func (d *Drawing) place(r *rand.Rand) bool {
	for i := range d.Things {
		t := &d.Things[i]
		margin := 1.15*t.Size + 4
		if float64(min(d.Width, d.Height)) < 2*margin {
			return false
		}
		free := false
		for tries := 0; tries < 60 && !free; tries++ {
			t.X, t.Y = between(r, margin, float64(d.Width)-margin), between(r, margin, float64(d.Height)-margin)
			free = !slices.ContainsFunc(d.Things[:i], func(o Thing) bool {
				return math.Hypot(t.X-o.X, t.Y-o.Y) <= 1.2*(t.Size+o.Size)+4
			})
		}
		if !free {
			return false
		}
	}
	return true
}
