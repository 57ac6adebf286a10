// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/native"
)

// goOn settles whether the answer goes on with the last message.
func (e *Engine) goOn(c *chat.Conversation, n *native.Conversation) error {
	last := len(c.Messages) - 1
	byAssistant := func(i int) bool { return i >= 0 && c.Messages[i].Role == "assistant" }
	if n.Continue == "" && !c.Fresh && !e.templateOptions.NoPrefill && byAssistant(last) {
		n.Continue, n.AddGenerationPrompt = native.ContinueAuto, false
	}
	switch {
	case n.Continue == "":
		return nil
	case n.AddGenerationPrompt:
		return &chat.Invalid{Field: "continue_final_message", Reason: "cannot be true unless add_generation_prompt is false"}
	case byAssistant(last) && len(c.Messages[last].ToolCalls) > 0:
		return &chat.Invalid{Field: "continue_final_message", Reason: "is for a message without tool calls"}
	}
	return nil
}

// joined are the messages of a conversation whose answer goes on with the last one, which has its
// parts as one text. A template never sees that message, and llama.cpp puts an empty line between
// its parts whatever a template writes there.
func (e *Engine) joined(ctx context.Context, messages []chat.Message, n native.Conversation) ([]chat.Message, error) {
	last := len(messages) - 1
	if last < 0 || messages[last].Parts == nil {
		return messages, nil
	}
	m := messages[last]
	parts, joint := m.Parts, ""
	for len(parts) > 0 && parts[0] == "" { // nothing stands before what they would be joined to
		parts = parts[1:]
	}
	if len(parts) > 1 {
		var err error
		if joint, err = e.joint(ctx, n); err != nil {
			return nil, err
		}
	}
	m.Content, m.Parts = strings.Join(parts, joint), nil
	return append(slices.Clip(messages[:last]), m), nil
}

// joint is what the template writes between the parts of a message that was said before.
func (e *Engine) joint(ctx context.Context, n native.Conversation) (string, error) {
	const first, second, usual = "the-first-part", "the-second-part", "\n"
	n.Continue, n.ToolChoice, n.JSONSchema, n.Grammar = "", "", "", ""
	p, err := e.renderMessages(ctx, n, []chat.Message{
		{Role: "user", Content: "x"}, {Role: "assistant", Content: first + usual + second, Parts: []string{first, second}}, {Role: "user", Content: "x"},
	})
	if ctx.Err() != nil {
		return "", err
	}
	_, behind, found := strings.Cut(p.Text, first) // of a template that takes no such conversation there is no text
	if joint, _, ok := strings.Cut(behind, second); found && ok {
		return joint, nil
	}
	return usual, nil
}

// keepOwnReasoning leaves a prompt that goes on with a message as that message begins, if it
// begins with reasoning: llama.cpp puts an empty block of reasoning before the content of each
// message that has its reasoning nowhere else.
func keepOwnReasoning(p *native.Prompt, last chat.Message) {
	tag := p.ThinkingStart
	if tag == "" || last.Reasoning != "" || !strings.HasPrefix(strings.TrimSpace(last.Content), tag) {
		return
	}
	before, ok := strings.CutSuffix(p.GenerationPrompt, last.Content)
	start, isEnd := strings.CutSuffix(p.Text, p.GenerationPrompt)
	if !ok || !isEnd {
		return
	}
	if at := strings.LastIndex(before, tag); at >= 0 {
		before = before[:at]
	} else {
		for _, end := range p.ThinkingEnds { // some templates begin no block, and end it
			before = strings.TrimSuffix(before, end)
		}
	}
	p.GenerationPrompt = before + last.Content
	p.Text = start + p.GenerationPrompt
}
