// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"hash/fnv"
	"io"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// detour is how many tokens a detour has.
const detour = 5

// settled is the number of tokens after which a plugin has allocated what it needs.
const settled = 16

// conversation is one answer of a plugin.
type conversation struct {
	plugin *load.Plugin
	seed   uint64
	tokens int
	detour int // before this token others are tried and taken back; 0: none
	report *Report

	stage   *stage.Stage
	rule    answer.StopRule
	history []scheduler.Token
	prompt  int
	calls   int      // tokens accepted, those taken back included
	shown   int      // tokens whose text the rule was shown
	bytes   int      // of that text
	steps   []uint64 // a hash of what the plugin did for each token
	ended   bool

	early, end int // bytes of memory after the first tokens and at the end
}

// differs finds the first token for which two conversations differ, or gives −1.
func (c *conversation) differs(other *conversation) int {
	for i := range max(len(c.steps), len(other.steps)) {
		if i >= len(c.steps) || i >= len(other.steps) || c.steps[i] != other.steps[i] {
			return i
		}
	}
	return -1
}

func (c *conversation) run(config []byte) error {
	var media []byte
	c.history, media = prompt(c.seed)
	stage, err := stage.New(c.plugin, plugin.RequestInfo{Config: config, Media: media, Seed: c.seed, MaxTokens: c.tokens, ContextSize: 4096})
	if err != nil {
		return err
	}
	defer func() { _ = stage.Close() }() // a fault of close concerns nobody, and is counted
	c.stage, c.rule = stage, stage.Rule()
	c.prompt = len(c.history)
	if err := c.stage.Reset(c.history, c.prompt); err != nil {
		return err
	}
	c.report.used(abi.ExportOpen, stage.Usage())
	for turn := 0; len(c.history)-c.prompt < c.tokens && !c.ended; turn++ {
		if turn == c.detour && c.detour > 0 {
			if err := c.takeDetour(); err != nil {
				return err
			}
		}
		if err := c.step(uint64(len(c.history))); err != nil {
			return err
		}
		if turn == settled {
			c.early = stage.Usage().Memory
		}
		if c.calls > 2*c.tokens+256 {
			return fmt.Errorf("tokens were taken back too often: %d for an answer of %d", c.calls, len(c.steps))
		}
	}
	c.end = stage.Usage().Memory
	c.report.held(c.end)
	return nil
}

// takeDetour accepts other tokens, up to one that ends the answer, and takes them back, and their
// text.
func (c *conversation) takeDetour() error {
	length, steps, shown, bytes := len(c.history), len(c.steps), c.shown, c.bytes
	before := append([]scheduler.Token(nil), c.history...)
	for i := 0; i < detour && !c.ended; i++ {
		if err := c.step(uint64(1_000_000 + i)); err != nil {
			return err
		}
	}
	c.history, c.steps, c.ended = append(c.history[:0], before[:length]...), c.steps[:steps], false
	if rule, ok := c.rule.(answer.RewindRule); ok {
		rule.Rewind(c.shown-shown, c.bytes-bytes)
		c.shown, c.bytes = shown, bytes
	}
	if err := c.stage.Reset(c.history, c.prompt); err != nil {
		return err
	}
	c.report.used(abi.ExportRewind, c.stage.Usage())
	return nil
}

// step computes one token. The row depends on the seed and on place.
func (c *conversation) step(place uint64) error {
	did := fnv.New64a()
	in := newInput(c.seed, place, c.plugin.Manifest.View)
	prepared, err := c.stage.Prepare()
	if err != nil {
		return err
	}
	c.report.used(abi.ExportPrepare, c.stage.Usage())
	record(did, prepared.Mask, prepared.Forced)
	for _, b := range prepared.Bias {
		record(did, b.Token, b.Value)
	}
	if len(prepared.Forced) > 0 {
		if err := c.follow(did, in, prepared.Forced); err != nil {
			return err
		}
		c.steps = append(c.steps, did.Sum64())
		return nil
	}
	view := in.view(prepared)
	if err := c.stage.Apply(view); err != nil {
		return err
	}
	c.report.used(abi.ExportSample, c.stage.Usage())
	token := view.Likeliest()
	record(did, view.ID[:max(0, view.N)], view.Logit[:max(0, view.N)], view.Chosen, token)
	if _, err := c.accept(did, token, in.text(token)); err != nil {
		return err
	}
	c.steps = append(c.steps, did.Sum64())
	return nil
}

// follow accepts forced tokens, up to one that the plugin answers with a splice, or that ends the
// conversation.
func (c *conversation) follow(did io.Writer, in *input, tokens []scheduler.Token) error {
	for _, t := range append([]scheduler.Token(nil), tokens...) {
		if spliced, err := c.accept(did, t, in.text(t)); err != nil || spliced || c.ended {
			return err
		}
	}
	return nil
}

// accept tells the plugin a token and its text, and does what the plugin answers. It reports
// whether that was a splice.
func (c *conversation) accept(did io.Writer, token scheduler.Token, text string) (spliced bool, _ error) {
	c.history = append(c.history, token)
	c.calls++
	effect, err := c.stage.Accept(token)
	if err != nil {
		return false, err
	}
	c.report.used(abi.ExportAccept, c.stage.Usage())
	record(did, effect.Stop, effect.Splice, effect.Backtrack)
	c.ended = c.ended || effect.Stop
	if effect.Splice {
		c.history = c.history[:len(c.history)-int(effect.Backtrack)]
		for _, t := range append([]scheduler.Token(nil), effect.Tokens...) {
			if _, err := c.accept(did, t, words.Piece(t)); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	if c.rule == nil {
		return false, nil
	}
	c.shown, c.bytes = c.shown+1, c.bytes+len(text)
	verdict, err := c.rule.Check(token, text)
	if err != nil {
		return false, err
	}
	c.report.used(abi.ExportStop, c.stage.Usage())
	record(did, verdict.Hold, verdict.End, verdict.Show)
	c.ended = c.ended || verdict.End
	return false, nil
}

// record adds values to a hash.
func record(to io.Writer, values ...any) { fmt.Fprintln(to, values...) } // hashes do not fail
