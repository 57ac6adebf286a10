// SPDX-License-Identifier: MIT

package llamaserver

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// final is what is reported of an answer at its end, but for its text.
func (s *completionShape) final(c *completion.Choice, st *state) map[string]any {
	prompt, err := s.request.Model.Engine.Detokenize(c.Request.TextTokens(c.Index / s.request.PerPrompt))
	if err != nil {
		prompt = "" // the tokens were computed, so they have a text
	}
	final := map[string]any{
		"index": c.Index, "id_slot": c.Start.Slot, "stop": true, "model": s.request.Model.Name,
		"tokens_predicted": c.End.Usage.Generated, "tokens_evaluated": c.End.Usage.Prompt, "tokens_cached": c.End.Usage.Context,
		"generation_settings": s.body.settings(c.Request.Prompted, c.Index), "prompt": prompt,
		"has_new_line": st.newLine, "truncated": c.End.Truncated, "stop_type": stopType(c.End), "stopping_word": c.End.Stop,
		"timings": wire.TimingsOf(c.End),
	}
	if id := c.Request.RecordingID(); id != "" {
		final["recording"] = id
	}
	if outputs := wire.OutputsOf(c); outputs != nil {
		final["plugin_outputs"] = outputs
	}
	return final
}

// stopType is llama-server's word for how an answer ended.
func stopType(e scheduler.End) string {
	switch {
	case e.Reason == answer.ReasonLength:
		return "limit"
	case e.Reason != answer.ReasonStop:
		return "none"
	case e.Stop != "":
		return "word"
	}
	return "eos"
}

// pick takes fields out of an object; "a/b" is the field b of the object a. Those that are not
// there are left out. Without any it takes the whole object.
func pick(object map[string]any, fields []string) map[string]any {
	if len(fields) == 0 {
		return object
	}
	picked := map[string]any{}
	for _, field := range fields {
		var at any = object
		for name := range strings.SplitSeq(field, "/") {
			switch o := at.(type) {
			case map[string]any:
				at = o[name]
			case settings:
				at = o[name]
			default:
				at = nil
			}
		}
		if at != nil {
			picked[field] = at
		}
	}
	return picked
}

// show notes that text was shown.
func (st *state) show(text string) { st.newLine = st.newLine || strings.Contains(text, "\n") }

// timings are those of an answer that goes on.
func (st *state) timings(c *completion.Choice) *wire.Timings {
	t := wire.TimingsOf(scheduler.End{
		Usage:  scheduler.Usage{Prompt: c.Start.PromptTokens, Cached: c.Start.CachedTokens, Generated: len(st.tokens)},
		Timing: scheduler.Timing{Prefill: st.first.Sub(st.begun), Decode: max(st.last.Sub(st.first), time.Microsecond)},
	})
	return &t
}

// incomplete is the length of an unfinished but so far valid character at the end of text.
func incomplete(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
