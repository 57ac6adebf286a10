// SPDX-License-Identifier: MIT

package host

import (
	"log/slog"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/scheduler/draft"
)

// mostDraftRows is how many rows a pass has for guessed tokens of all slots: a row of a vocabulary of 128,256 takes half a megabyte.
const mostDraftRows = 32

// draftRows is how many of them there are.
func draftRows(c config.Speculation) int {
	if !c.Drafts() {
		return 0
	}
	return max(mostDraftRows, c.DraftNMax)
}

// drafter is what guesses tokens of answers; nil if nothing does.
func drafter(c config.Speculation, e *engine.Engine, log *slog.Logger) draft.Drafter {
	switch {
	case !c.Drafts():
		return nil
	case !e.Backend().Limits().Drafts:
		log.Info("no tokens are guessed (speculative decoding): the model's memory cannot drop those that turn out wrong")
		return nil
	}
	return draft.NewLookup(c.NgramSize)
}
