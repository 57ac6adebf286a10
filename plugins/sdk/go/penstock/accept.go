// SPDX-License-Identifier: MIT

package penstock

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Accepted says how the answer continues after a token: Continue, Stop, or a result of Splice.
type Accepted int32

// How to go on.
const (
	Continue Accepted = abi.AcceptContinue // go on
	Stop     Accepted = abi.AcceptStop     // end the answer after this token
)

// Splice takes tokens back and inserts others in their place. backtrack counts from the token just
// accepted and includes it: 0 appends after it, 1 replaces it. The manifest's Hold limits how many
// may be taken back, and its Splice how many may be inserted; more end the request. Return the
// result of Splice from Accept at once.
func Splice(backtrack int, tokens ...Token) Accepted {
	setSplice(backtrack, tokens)
	return abi.AcceptSplice
}

// splice is the buffer: how many tokens are taken back, how many are inserted, and these tokens.
var splice []uint32

// setSplice fills the buffer. More tokens than there is room for are a fault, which the host finds
// by their number.
func setSplice(backtrack int, tokens []Token) {
	splice[0], splice[1] = uint32(backtrack), uint32(len(tokens))
	if copy(splice[2:], tokens) < len(tokens) {
		Log(Error, "there are more tokens to force or put in than the manifest's Splice says")
	}
}

// draft writes a draft into the buffer, as far as there is room.
func draft(d Drafter, most int32) int32 {
	tokens := d.Draft(int(most))
	return int32(copy(splice[2:2+most], tokens))
}

func beginAccept(value any) {
	guest.Accept = nil
	if a, ok := value.(Accepter); ok {
		guest.Accept = func(token int32) int32 { return int32(a.Accept(Token(token))) }
	}
}

func bindSplice() bool {
	if guest.Accept == nil && guest.Prepare == nil && guest.Draft == nil {
		return true
	}
	room := manifest.Splice
	if room == 0 {
		room = defaultRoom
	}
	splice = words(abi.BufferSplice, 2+room)
	return splice != nil
}
