// SPDX-License-Identifier: MIT

package responses

import (
	"slices"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// event is a server-sent event. It is a map because each type has other fields.
type event map[string]any

// EventName is the event's type.
func (e event) EventName() string { return e["type"].(string) }

// event makes the next event of the stream.
func (s *shape) event(kind string, fields event) event {
	fields["type"], fields["sequence_number"] = kind, s.number
	s.number++
	return fields
}

// itemEvent makes an event about the last item.
func (s *shape) itemEvent(kind string, fields event) event {
	fields["output_index"], fields["item_id"] = len(s.items)-1, s.last().ID
	return s.event(kind, fields)
}

// Start implements wire.Shape.
func (s *shape) Start(*completion.Choice) []any {
	r := s.object(inProgress)
	return []any{s.event("response.created", event{"response": r}), s.event("response.in_progress", event{"response": r})}
}

// Part implements wire.Shape.
func (s *shape) Part(c *completion.Choice, d completion.Delta) (frames []any) {
	probs := wire.SaidIn(c, d)
	if d.Reasoning != "" {
		frames = append(frames, s.text("reasoning", "response.reasoning_text.delta", d.Reasoning, nil)...)
	}
	if d.Content != "" {
		frames = append(frames, s.text("message", "response.output_text.delta", d.Content, probs)...)
	}
	for _, call := range d.Calls {
		if !s.open || s.last().Type != functionCall && s.last().Type != customCall || s.call != call.Index {
			frames = append(frames, s.close(completed)...)
			s.beginCall(call)
			frames = append(frames, s.added())
		}
		if call.Arguments != "" {
			s.last().addArguments(call.Arguments)
			kind := "response.function_call_arguments.delta"
			if call.Custom {
				kind = "response.custom_tool_call_input.delta"
			}
			frames = append(frames, s.itemEvent(kind, event{"delta": call.Arguments}))
		}
	}
	return frames
}

// text adds text to an item of a kind, which it begins if the last one is of another.
func (s *shape) text(kind, name, text string, probs []wire.TokenProb) (frames []any) {
	if !s.open || s.last().Type != kind {
		frames = s.close(completed)
		s.begin(kind)
		frames = append(frames, s.added(), s.itemEvent("response.content_part.added", event{"content_index": 0, "part": newPart(kind)}))
	}
	s.last().add(text, probs)
	delta := event{"content_index": 0, "delta": text}
	if kind == "message" {
		delta["logprobs"] = append([]wire.TokenProb{}, probs...)
	}
	return append(frames, s.itemEvent(name, delta))
}

// added tells of the last item, which is empty so far. It is written when the item may have grown
// already, so it is a copy.
func (s *shape) added() event {
	it := *s.last()
	if it.Content != nil {
		it.Content = &[]part{}
	}
	return s.event("response.output_item.added", event{"output_index": len(s.items) - 1, "item": it})
}

// close ends the last item.
func (s *shape) close(status string) []any {
	if !s.open {
		return nil
	}
	s.open = false
	it := s.last()
	it.Status = status
	var frames []any
	switch it.Type {
	case customCall:
		frames = append(frames, s.itemEvent("response.custom_tool_call_input.done", event{"input": *it.Input}))
	case functionCall:
		frames = append(frames, s.itemEvent("response.function_call_arguments.done", event{"name": it.Name, "arguments": *it.Arguments}))
	case "reasoning":
		p := (*it.Content)[0]
		frames = append(frames, s.itemEvent("response.reasoning_text.done", event{"content_index": 0, "text": p.Text}),
			s.itemEvent("response.content_part.done", event{"content_index": 0, "part": p}))
	default:
		p := (*it.Content)[0]
		frames = append(frames, s.itemEvent("response.output_text.done", event{"content_index": 0, "text": p.Text, "logprobs": *p.Logprobs}),
			s.itemEvent("response.content_part.done", event{"content_index": 0, "part": p}))
	}
	return append(frames, s.event("response.output_item.done", event{"output_index": len(s.items) - 1, "item": *it}))
}

// Last implements wire.Shape.
func (s *shape) Last(c *completion.Choice) []any {
	r := s.object(completed)
	r.finish(c, nil)
	frames := s.close(r.Status)
	r.Output = slices.Clone(s.items)
	if r.Output == nil {
		r.Output = []output{}
	}
	return append(frames, s.event("response."+r.Status, event{"response": r}))
}

// Failed implements wire.Failing.
func (s *shape) Failed(e *refusal.Error) []any {
	frames := s.close(cut)
	r := s.object(failed)
	r.Output = append(r.Output, s.items...)
	r.Error = failure{Code: failedCode(e), Message: e.Message}
	return append(frames, s.event("response."+failed, event{"response": r}))
}

// failedCode is a failed response's code. Codex begins the response anew, unless it knows by the
// code that this mends nothing.
func failedCode(e *refusal.Error) string {
	if e.Code == refusal.TooLongCode || wire.MendedByRepeating(e) {
		return e.Code
	}
	return "invalid_prompt"
}
