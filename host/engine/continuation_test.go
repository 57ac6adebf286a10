// SPDX-License-Identifier: MIT

package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/must"
)

// begun is a conversation that ends with a message of the assistant.
func begun(last chat.Message) chat.Conversation {
	last.Role = "assistant"
	return chat.Conversation{Messages: append(hello[:1:1], last)}
}

// inParts is a content that came as a list.
func inParts(parts ...string) chat.Message {
	return chat.Message{Content: strings.Join(parts, "\n"), Parts: parts}
}

// The parts of a message that the answer goes on with are joined as those of a message before it,
// whatever the template writes there.
func TestEngine_Render_PartsOfAPrefill(t *testing.T) {
	for template, joint := range map[string]string{
		"Qwen-Qwen3-0.6B.jinja":                     "\n", // takes texts, which llama.cpp joins
		"meta-llama-Llama-3.1-8B-Instruct.jinja":    "\n",
		"deepseek-ai-DeepSeek-V3.1.jinja":           "\n",
		"openai-gpt-oss-120b.jinja":                 "\n",
		"google-gemma-4-31B-it.jinja":               "", // takes parts, and joins them by itself
		"Qwen3.5-4B.jinja":                          "",
		"chatml":                                    "\n",
		"Mistral-Small-3.2-24B-Instruct-2506.jinja": "",
	} {
		e := withTemplate(t, template)
		want, err := e.Render(t.Context(), begun(chat.Message{Content: "One," + joint + "two,"}))
		if err != nil {
			t.Fatal(template, err)
		}
		for name, parts := range map[string][]string{"two": {"One,", "two,"}, "one": {"One," + joint + "two,"}, "an empty one before": {"", "One,", "two,"}} {
			got, err := e.Render(t.Context(), begun(inParts(parts...)))
			if err != nil || got.Text != want.Text || got.GenerationPrompt != want.GenerationPrompt {
				t.Errorf("%s, %s: %v (-want +got):\n%s", template, name, err, cmp.Diff(want.Text, got.Text))
			}
		}
		before := append(begun(inParts("One,", "two,")).Messages, hello...)
		if p, err := e.Render(t.Context(), chat.Conversation{Messages: before}); err != nil || !strings.Contains(p.Text, "One,"+joint+"two,") {
			t.Errorf("%s: before the last message they are joined otherwise: %v\n%s", template, err, p.Text)
		}
	}
}

// A message that the answer goes on with and that brings its own reasoning stands in the prompt as
// it came: no empty reasoning is before it.
func TestEngine_Render_PrefillWithItsReasoning(t *testing.T) {
	for template, tags := range map[string][2]string{
		"Qwen-Qwen3-0.6B.jinja":                          {"<think>", "</think>"},
		"Qwen-QwQ-32B.jinja":                             {"<think>", "</think>"},
		"Qwen3.5-4B.jinja":                               {"<think>", "</think>"},
		"deepseek-ai-DeepSeek-V3.1.jinja":                {"<think>", "</think>"},
		"LFM2.5-8B-A1B.jinja":                            {"<think>", "</think>"},
		"google-gemma-4-31B-it.jinja":                    {"<|channel>thought", "<channel|>"},
		"openai-gpt-oss-120b.jinja":                      {"<|channel|>analysis<|message|>", "<|end|>"},
		"ByteDance-Seed-OSS.jinja":                       {"<seed:think>", "</seed:think>"},
		"mistralai-Ministral-3-14B-Reasoning-2512.jinja": {"[THINK]", "[/THINK]"},
	} {
		e := withTemplate(t, template)
		for name, content := range map[string]string{
			"ended": tags[0] + "\nHm.\n" + tags[1] + "\n\nOne,", "without a line": tags[0] + "Hm." + tags[1] + "One,", "open": tags[0] + "\nHm", "behind a line": "\n" + tags[0] + "\nHm",
		} {
			for _, last := range []chat.Message{{Content: content}, inParts(content)} {
				p, err := e.Render(t.Context(), begun(last))
				if err != nil || !strings.HasSuffix(p.Text, content) || strings.Count(p.GenerationPrompt, tags[0]) != 1 || !strings.HasSuffix(p.Text, p.GenerationPrompt) {
					t.Errorf("%s, %s: %v\n%s\nwith the generation prompt %q", template, name, err, p.Text, p.GenerationPrompt)
				}
			}
		}
		// One that brings none gets what it got.
		plain, err := e.Render(t.Context(), begun(chat.Message{Content: "One, " + tags[0]}))
		if err != nil || strings.Count(plain.Text, tags[0]) < 1 || !strings.HasSuffix(plain.Text, "One, "+tags[0]) {
			t.Errorf("%s: %v\n%s", template, err, plain.Text)
		}
	}
}

// An answer that goes on with reasoning that a message has brought is taken apart: what follows is
// reasoning until it ends.
func TestEngine_Render_PrefillWithItsReasoning_IsTakenApart(t *testing.T) {
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	for content, c := range map[string]struct {
		text string
		want []chat.Delta
	}{
		"<think>\nHm":                    {", yes.\n</think>\n\nOne.", []chat.Delta{{Reasoning: "Hm, yes.\n"}, {Content: "One."}}},
		"<think>\nHm.\n</think>\n\nOne,": {" two.", []chat.Delta{{Reasoning: "Hm.\n"}, {Content: "One, two."}}},
	} {
		conversation := begun(chat.Message{Content: content})
		conversation.Echo = true
		p := must.Get(e.Render(t.Context(), conversation))(t)
		a := must.Get(p.NewSplitter())(t)
		a.Add(c.text)
		got, err := a.End()
		a.Close()
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", content, err, diff)
		}
	}
}
