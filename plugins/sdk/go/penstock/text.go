// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

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
