// SPDX-License-Identifier: MIT

package chat

// WithoutEmptyEnd is the conversation without a last message of the assistant that says nothing:
// coding agents send one where they ask for a new answer. There is nothing in it to go on with,
// and a prompt that did would lack what begins the assistant's turn.
func (c Conversation) WithoutEmptyEnd() Conversation {
	last := len(c.Messages) - 1
	if last < 1 || !c.Messages[last].saysNothing() {
		return c
	}
	c.Messages, c.Continue, c.AddGenerationPrompt = c.Messages[:last:last], "", nil
	c.Fresh = true
	return c
}

// saysNothing reports whether a message is the assistant's and has neither text nor calls.
func (m Message) saysNothing() bool {
	for _, part := range m.Parts {
		if part != "" {
			return false
		}
	}
	return m.Role == "assistant" && (m.Content == "" || m.Parts != nil) && m.Reasoning == "" && len(m.ToolCalls) == 0
}
