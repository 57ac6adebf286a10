// SPDX-License-Identifier: MIT

package openai

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// verboseShape adds llama-server's description to the answers of another shape: to a whole one, or
// to the first of the frames that end a choice.
type verboseShape struct {
	wire.Shape
	about wire.Detailed
}

// described is the shape that a body asks for.
func (a API) described(r *completion.TextRequest, b *AnswerFields, sh wire.Shape) wire.Shape {
	if !b.Verbose || a.Verbose == nil {
		return sh
	}
	return verboseShape{sh, a.Verbose(r, b.Stream)}
}

// describable is an object that begins with a head.
type describable interface{ describe(answer any) }

// Event implements wire.Detailed.
func (s verboseShape) Event(c *completion.Choice, d completion.Delta) []any {
	about := s.about.Event(c, d)
	frames := wire.Frames(s.Shape, c, d)
	if d.Event.Kind == scheduler.KindEnd && len(frames) > 0 && len(about) > 0 {
		if head, ok := frames[0].(describable); ok {
			head.describe(about[len(about)-1])
		}
	}
	return frames
}

// Whole implements wire.Shape.
func (s verboseShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.Shape.Whole(choices, wholes)
	if head, ok := a.(describable); ok {
		head.describe(s.about.Whole(choices[:1], wholes[:1]))
	}
	return a
}
