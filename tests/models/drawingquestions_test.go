// SPDX-License-Identifier: MIT

package models

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Asked is a question with its answer, of which one word counts.
type Asked struct {
	Drawing          Drawing
	Question, Answer string
}

// drawingQuestions are the kinds of questions, each with one at random about a new drawing.
var drawingQuestions = []struct {
	Name string
	Ask  func(w *World, r *rand.Rand) Asked
}{{"how many", howMany}, {"what color", whatColor}, {"left or right", leftOrRight}, {"what digit", whatDigit}}

func howMany(w *World, r *rand.Rand) Asked {
	d := w.Draw(r, Many)
	shape, n := pick(r, d.Things).Shape, 0
	for _, t := range d.Things {
		if t.Shape == shape {
			n++
		}
	}
	return Asked{d, fmt.Sprintf("How many %ss are there?", shape), w.Numbers[n]}
}

func whatColor(w *World, r *rand.Rand) Asked {
	d := w.Draw(r, Few)
	t := pick(r, d.Things)
	return Asked{d, fmt.Sprintf("What color is the %s?", t.Shape), t.Color}
}

func leftOrRight(w *World, r *rand.Rand) Asked {
	for {
		d := w.Draw(r, Few)
		a, b := d.Things[0], d.Things[1]
		if math.Abs(a.X-b.X) < 0.06*float64(d.Width) {
			continue
		}
		answer := "right"
		if a.X < b.X {
			answer = "left"
		}
		return Asked{d, fmt.Sprintf("Is the %s left or right of the %s?", a.Name(), b.Name()), answer}
	}
}

func whatDigit(w *World, r *rand.Rand) Asked {
	d := w.Draw(r, Digit)
	return Asked{d, "What digit is it?", d.Things[0].Shape}
}
