// SPDX-License-Identifier: MIT

package check

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// writing is one answer that a program writes.
type writing struct {
	plugin *load.Plugin
	words  *drive.Words
	seed   uint64
	tokens int
	report *Report
	waits  int      // how many it may have
	shown  []string // what it has shown by each wait
}

// mostWaits is how many waits an answer of so many tokens may have.
func mostWaits(tokens int) int { return 100 * (tokens + 1) }

// write has a program write an answer twice: with the same rows it does the same.
func (r *Report) write(p *load.Plugin, o Options, seed uint64) {
	var first *writing
	for range 2 {
		w := &writing{plugin: p, words: words, seed: seed, tokens: o.Tokens, waits: mostWaits(o.Tokens), report: r}
		if err := w.run(o.Config); err != nil {
			r.find("answer %d, wait %d: %v", seed, len(w.shown)+1, err)
			return
		}
		if first == nil {
			first = w
			continue
		}
		for i := range max(len(first.shown), len(w.shown)) {
			if i >= len(first.shown) || i >= len(w.shown) || first.shown[i] != w.shown[i] {
				r.find("answer %d, wait %d: the second time the plugin did something else; what it does must depend on the request, its seed and what the model says only. "+
					"First it showed %s, then %s", seed, i+1, shownBy(first.shown, i), shownBy(w.shown, i))
				return
			}
		}
	}
}

// shownBy tells what was shown by a wait, of which there may be fewer.
func shownBy(waits []string, i int) string {
	if i >= len(waits) {
		return "no more, and had ended"
	}
	return fmt.Sprintf("%.80s", waits[i])
}

func (w *writing) run(config []byte) (err error) {
	history, media := w.words.Prompt(w.seed)
	count, memory := 0, 0
	used, err := drive.Writing{
		Vocabulary: w.words, Row: w.row, Draw: draw,
		Opened: func(u stage.Usage) {
			w.report.used(abi.ExportOpen, u, w.words)
			memory = u.Memory
		},
		Waited: func(shown []program.Shown) bool {
			text := "nothing"
			for i, t := range shown {
				if i == 0 {
					text = ""
				}
				text += fmt.Sprintf("%q (%d) ", w.words.Piece(t.Token), t.Choice)
			}
			w.shown, count = append(w.shown, text), count+len(shown)
			return count < w.tokens && len(w.shown) <= w.waits
		},
	}.Write(w.plugin, plugin.RequestInfo{Config: config, Media: media, Seed: w.seed, MaxTokens: w.tokens, ContextSize: contextSize}, history)
	w.report.used(abi.ExportRun, stage.Usage{Fuel: used.Fuel / int64(max(1, len(w.shown))), Limit: abi.LimitHookFuel}, w.words)
	w.report.held(max(memory, used.Memory))
	if err == nil && len(w.shown) > w.waits && w.words == words {
		err = fmt.Errorf("it has waited %d times for an answer of %d tokens, and has shown %d", len(w.shown), w.tokens, count)
	}
	var cancelled *plugin.Fault
	if errors.As(err, &cancelled) && errors.Is(cancelled, plugin.CauseCancelled) {
		return nil
	}
	return err
}

// row is what the made-up model says after some tokens, whatever else is asked of it.
func (w *writing) row(tokens []program.Token) []float32 {
	h := fnv.New64a()
	fmt.Fprintln(h, tokens) // hashes do not fail
	r := rand.New(rand.NewPCG(w.seed, h.Sum64()))
	row := make([]float32, w.words.Size())
	for t := range row {
		row[t] = float32(r.NormFloat64() * 5)
	}
	return row
}

// draw draws any token that has a logit.
func draw(v *chain.View, random *rand.Rand) error {
	narrow(v, len(v.Row))
	if v.N == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = v.ID[random.IntN(v.N)]
	return nil
}
