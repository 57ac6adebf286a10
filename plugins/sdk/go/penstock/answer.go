// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// History appends to buffer[:0] all tokens so far, prompt first. In Prepare and Sample these are
// the tokens accepted before; in Accept and Stop the current token is the last. Pass the last
// result to reuse its memory.
func History(buffer []Token) []Token { return HistoryFrom(0, buffer) }

// HistoryFrom is History from a token on, where 0 is the prompt's first; a negative number counts
// back from the end, so HistoryFrom(-3, buffer) is the last three tokens. Its cost depends on the
// tokens that are copied, not on the whole history.
func HistoryFrom(from int, buffer []Token) []Token {
	if cap(buffer) == 0 {
		buffer = make([]Token, 0, 256)
	}
	for {
		buffer = buffer[:cap(buffer)]
		n := int(abi.History(int32(from), unsafe.Pointer(&buffer[0]), int32(len(buffer))))
		if n <= len(buffer) {
			return buffer[:n]
		}
		buffer = make([]Token, n+n/2)
	}
}

// HistoryLen is how many tokens there are so far. It copies nothing.
func HistoryLen() int {
	var none Token
	return int(abi.History(0, unsafe.Pointer(&none), 0))
}

// LastToken is the last token so far, if there is one.
func LastToken() (Token, bool) {
	n := abi.History(-1, unsafe.Pointer(&lastToken), 1)
	return lastToken, n == 1
}

// lastToken is where the host writes; a local variable would be allocated at each call.
var lastToken Token

// AnswerText appends to buffer[:0] the answer's text from a byte on, in whole characters; a
// negative number counts back from the end, so AnswerText(-100, buffer) is the last 100 bytes,
// which may begin inside a character. It is the current text, whatever was taken back before. Pass
// the last result to reuse its memory. In Stop it may be ahead of the text that was shown, if
// another plugin holds tokens back. On a host without this function the text is joined from the
// tokens' pieces.
func AnswerText(from int, buffer []byte) []byte {
	if !Feature("text") {
		return answerPieces(from, buffer[:0])
	}
	if cap(buffer) == 0 {
		buffer = make([]byte, 0, 512)
	}
	for {
		buffer = buffer[:cap(buffer)]
		n := int(abi.Text(int32(from), unsafe.Pointer(&buffer[0]), int32(len(buffer))))
		if n <= len(buffer) {
			return buffer[:n]
		}
		buffer = make([]byte, n+n/2)
	}
}

// answerPieces is AnswerText for an older host: it may end with an incomplete character.
func answerPieces(from int, buffer []byte) []byte {
	var piece []byte
	for _, t := range HistoryFrom(int(abi.Param(abi.ParamPromptTokens)), nil) {
		piece = Piece(t, piece)
		buffer = append(buffer, piece...)
	}
	if from < 0 {
		from = max(0, len(buffer)+from)
	}
	return buffer[min(from, len(buffer)):]
}

// Part is a part of an answer.
type Part int32

// The parts.
const (
	Content     Part = abi.PartContent   // what the model says
	Reasoning   Part = abi.PartReasoning // what it thinks before
	ToolCall    Part = abi.PartToolCall  // a call of a tool, with its arguments
	UnknownPart Part = abi.PartUnknown   // the host cannot tell
)

// AnswerPart is the part in which the answer's text ends: in Accept and Stop that of the token, in
// Prepare and Sample that of the last text. A tag between two parts belongs to the part before it,
// until there is text after it. The call costs fuel for each byte of the answer.
func AnswerPart() Part {
	if !Feature("part") {
		return UnknownPart
	}
	return Part(abi.Part())
}

// HiddenState is, in Sample, Accept and Stop, the output of the model's last layer behind the
// logits from which the token is drawn, after the norm and before the projection to the vocabulary:
// the input of a probe. For nearly all models its length is "embedding_size" of Model. It is
// written to the memory of into if that is large enough, so pass the last result again:
//
//	p.state = penstock.HiddenState(p.state)
//
// It is empty for tokens that a client injected, that came from a Splice, or that follow the first
// of several forced tokens; and on a host without this function. If the model has no hidden states,
// the host refuses requests with a plugin that calls it.
func HiddenState(into []float32) []float32 {
	if !Feature("state") {
		return nil
	}
	return readState(into, func(to unsafe.Pointer, limit int32) int32 { return abi.State(to, limit) })
}

// readState reads a hidden state, into the memory of a slice if it fits.
func readState(into []float32, read func(unsafe.Pointer, int32) int32) []float32 {
	into = into[:cap(into)]
	for {
		n := int(read(unsafe.Pointer(unsafe.SliceData(into)), int32(len(into))))
		if n <= len(into) {
			return into[:n]
		}
		into = make([]float32, n)
	}
}

// Logprob is, in Accept, the natural logarithm of the probability that the model gave the accepted
// token, before masks, biases and samplers. It is not known for tokens that a client injected, that
// came from a Splice, or that follow the first of several forced tokens; nor on a host without this
// function. A plugin that calls it costs a pass over all logits for each token.
func Logprob() (logprob float32, known bool) {
	if !Feature("logprob") {
		return 0, false
	}
	l := abi.Logprob()
	return l, l == l
}

// LogProb is another name of Logprob.
func LogProb() (logprob float32, known bool) { return Logprob() }
