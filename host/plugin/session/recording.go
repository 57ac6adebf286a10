// SPDX-License-Identifier: MIT

package session

// Recording is a request that was recorded with its answers.
type Recording struct {
	ID      string   `json:"id"`
	Created int64    `json:"created"` // in seconds since 1970
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
}

// Choice is one answer of a recording, as its client got it.
type Choice struct {
	Seed   uint32   `json:"seed"`
	Tokens []Chosen `json:"tokens"`
	Text   string   `json:"text"`
	Reason string   `json:"finish_reason"`
	Error  string   `json:"error,omitempty"`
}

// Chosen is a token of an answer, and who put it there.
type Chosen struct {
	Token Token  `json:"token"`
	Text  Text   `json:"text"`
	By    string `json:"by"`  // samplers, client or plugin:NAME
	How   string `json:"how"` // chosen, forced, spliced, injected, or forked: the answer began with it
}
