// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// Token is the id of a token.
type Token = uint32

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
