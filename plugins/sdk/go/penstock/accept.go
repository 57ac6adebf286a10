// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

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
	splice = bindWords(abi.BufferSplice, 2+room)
	return splice != nil
}

// Verdict decides what happens to the text so far: one of these, or a result of EndAfter.
type Verdict int32

// The verdicts.
const (
	Show Verdict = abi.StopShow // go on; all text so far may be shown
	End  Verdict = abi.StopEnd  // end, and show it
	Hide Verdict = abi.StopHide // end, and show nothing since the last Show
	Hold Verdict = abi.StopHold // go on; hold back what came since the last Show. More than 4 KiB held is an error
)

// HoldText is another name of Hold, which holds text back; the manifest's Hold is about tokens.
const HoldText = Hold

// EndAfter ends the answer and shows only the first n bytes since the last Show. They must be
// whole characters.
func EndAfter(n int) Verdict { return Verdict(-n - 1) }

// textRoom is the size of the text buffer, in bytes.
const textRoom = 4096

// text is the text buffer, of words since it must be aligned.
var text []uint32

func beginStop(value any) {
	guest.Stop = nil
	if s, ok := value.(Stopper); ok {
		guest.Stop = func(token, size int32) int32 {
			return int32(s.Stop(Token(token), textBuffer()[:size]))
		}
	}
}

func bindText() bool {
	if guest.Stop == nil && guest.Filter == nil {
		return true
	}
	text = bindWords(abi.BufferText, textRoom/4)
	return text != nil
}

func beginFilter(value any) {
	guest.Filter = nil
	if f, ok := value.(Filterer); ok {
		guest.Filter = func(size, last int32) int32 { return filter(f, size, last == 1) }
	}
}

// filter hands to emit what is shown, unless it is the beginning of the text as it was.
func filter(f Filterer, size int32, last bool) int32 {
	given := textBuffer()[:size]
	shown, keep := f.Filter(given, last)
	if rest := len(given) - keep; len(shown) != rest || rest > 0 && &shown[0] != &given[0] {
		emit(shown)
	}
	return int32(keep)
}

func textBuffer() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&text[0])), textRoom) }
