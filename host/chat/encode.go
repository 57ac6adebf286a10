// SPDX-License-Identifier: MIT

package chat

import "fmt"

// Tokenizer splits text into tokens. addSpecial adds those the model wants around a prompt, parseSpecial sees special
// tokens written in the text.
type Tokenizer interface {
	Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error)
}

// Encode renders a conversation and tokenises the result. Special tokens of the template are parsed; a second
// beginning-of-sequence token is the renderer's to avoid, which knows whether the model adds one.
func Encode(c Conversation, r Renderer, t Tokenizer) (Prompt, []int32, error) {
	p, err := r.Render(c)
	if err != nil {
		return Prompt{}, nil, &Invalid{Field: "messages", Reason: "do not fit the model's chat template: " + err.Error()}
	}
	tokens, err := t.Tokenize(p.Text, true, true)
	if err != nil {
		return Prompt{}, nil, fmt.Errorf("tokenise the prompt: %w", err)
	}
	return p, tokens, nil
}
