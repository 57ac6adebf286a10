// SPDX-License-Identifier: MIT

package openai

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// describedShape adds to the answers of another shape what llama-server tells besides: its
// description of the answer (verbose), frames of how far the prompt is computed, and the times
// until each token.
type describedShape struct {
	wire.Shape
	about   wire.Detailed // the frames of llama-server's own API for the same answer
	verbose bool
}

// described is the shape that a body asks for.
func (a API) described(r *completion.TextRequest, b *AnswerFields, sh wire.Shape) wire.Shape {
	measured := b.Stream && (b.ReturnProgress || b.TimingsPerToken)
	if a.Describe == nil || !b.Verbose && !measured {
		return sh
	}
	return describedShape{sh, a.Describe(r, b), b.Verbose}
}

// describable is an object that begins with a head.
type describable interface{ describe(answer any) }

// measurable is a frame that has wire.Measured.
type measurable interface{ Measures() *wire.Measured }

// Event implements wire.Detailed.
func (s describedShape) Event(c *completion.Choice, d completion.Delta) []any {
	about := s.about.Event(c, d)
	frames := wire.Frames(s.Shape, c, d)
	if len(about) == 0 {
		return frames
	}
	switch d.Event.Kind {
	case scheduler.KindStarted, scheduler.KindProgress:
		frames = append(frames, s.Part(c, completion.Delta{})...)
	case scheduler.KindEnd:
		if head, ok := frames[0].(describable); ok && s.verbose { // the last frame is always there
			head.describe(about[len(about)-1])
		}
		return frames
	}
	if told, ok := about[0].(measurable); ok && len(frames) > 0 {
		if frame, ok := frames[len(frames)-1].(measurable); ok {
			*frame.Measures() = *told.Measures()
		}
	}
	return frames
}

// Whole implements wire.Shape.
func (s describedShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.Shape.Whole(choices, wholes)
	if head, ok := a.(describable); ok && s.verbose {
		head.describe(s.about.Whole(choices[:1], wholes[:1]))
	}
	return a
}
