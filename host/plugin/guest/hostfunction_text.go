// SPDX-License-Identifier: MIT

package guest

import (
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
)

// answerText is the text of an answer's tokens, kept from call to call. Tokens that were taken
// back are found by comparing.
type answerText struct {
	tokens []int32
	marks  []mark // after each token
	bytes  []byte
}

// mark is where the text of a token ends, and what is left of it for the next.
type mark struct {
	end     int
	partial string
}

// of is the text of an answer of these tokens.
func (a *answerText) of(tokens []int32, v plugin.Vocabulary) []byte {
	same := 0
	for same < min(len(tokens), len(a.tokens)) && tokens[same] == a.tokens[same] {
		same++
	}
	a.tokens, a.marks = a.tokens[:same], a.marks[:same]
	var last mark
	if same > 0 {
		last = a.marks[same-1]
	}
	var characters answer.Characters
	characters.SetPartial(last.partial)
	a.bytes = a.bytes[:last.end]
	for _, t := range tokens[same:] {
		a.bytes = append(a.bytes, characters.Add(v.Piece(t))...)
		a.tokens, a.marks = append(a.tokens, t), append(a.marks, mark{len(a.bytes), characters.Partial()})
	}
	return a.bytes
}

// tokensPerFuel are as many tokens of an answer as a unit of fuel pays for.
const tokensPerFuel = 4

func hostText(i *Instance, c *call) uint64 {
	tokens := i.session.answer()
	i.charge(uint64(len(tokens) / tokensPerFuel))
	text := i.session.text.of(tokens, i.module.Env.Vocabulary)
	return c.write(i, 1, text[beginning(c.i32(0), len(text)):])
}

// answer is the history without the prompt.
func (s *Session) answer() []int32 {
	return s.History[min(int(s.Params[abi.ParamPromptTokens]), len(s.History)):]
}

// beginning is an index of a list of n: a negative one counts back from the end.
func beginning(from int32, n int) int {
	at := int(from)
	if at < 0 {
		at = max(0, n+at)
	}
	return min(at, n)
}
