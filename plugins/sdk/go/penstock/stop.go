// SPDX-License-Identifier: MIT

package penstock

import (
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

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
	text = words(abi.BufferText, textRoom/4)
	return text != nil
}
