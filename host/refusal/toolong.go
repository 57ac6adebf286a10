// SPDX-License-Identifier: MIT

package refusal

import "fmt"

// TooLongCode is the code of a TooLong refusal, which is OpenAI's.
const TooLongCode = "context_length_exceeded"

// The numbers of a refusal for a prompt that is too long, under llama-server's names.
const (
	PromptTokens  = "n_prompt_tokens" // absent where the text is too long to be tokenised
	ContextTokens = "n_ctx"
)

// TooLong refuses a prompt of so many tokens, which a context of so many cannot hold. Clients that
// then shorten their conversation look for words: those of llama-server and OpenAI stand here, and
// Anthropic's dialect puts its own before them.
func TooLong(field string, tokens, context int) *Error {
	return &Error{Kind: KindInvalid, Code: TooLongCode, Field: field,
		Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), the answer included, try increasing it. "+
			"This model's maximum context length is %d tokens", tokens, context, context),
		Numbers: map[string]int{PromptTokens: tokens, ContextTokens: context}}
}

// TextTooLong is TooLong for a text that is refused before it is tokenised, for the reason given.
func TextTooLong(field, reason string, context int) *Error {
	return &Error{Kind: KindInvalid, Code: TooLongCode, Field: field,
		Message: fmt.Sprintf("request exceeds the available context size (%d tokens), try increasing it: %s. "+
			"This model's maximum context length is %d tokens", context, reason, context),
		Numbers: map[string]int{ContextTokens: context}}
}
