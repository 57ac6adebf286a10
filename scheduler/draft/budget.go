// SPDX-License-Identifier: MIT

package draft

import "time"

// Budget is the time that drafts may lose, of one answer or of all: a hundredth of the time that
// its tokens would take without them, and what drafts have saved so far. A draft that loses more
// than there was leaves a debt, and until that is paid there are no others. So text that is never
// guessed right is slower by a hundredth, and by one draft.
type Budget struct{ left time.Duration }

// risked is the part of the time that drafts may lose.
const risked = 100

// Earn adds what tokens may lose that would take so long without drafts.
func (b *Budget) Earn(alone time.Duration) { b.left += alone / risked }

// Settle adds what a draft has saved, or takes away what it has lost.
func (b *Budget) Settle(saved time.Duration) { b.left += saved }

// Left is what drafts may lose now.
func (b *Budget) Left() time.Duration { return b.left }
