// SPDX-License-Identifier: MIT

package check

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
)

// contextSize is what plugins are told.
const contextSize = 4096

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
	soak   bool
	words  *drive.Words
	report *Report

	steps [][]deed // what the plugin did for each token
	turn  []deed   // for the one that is made
	void  bool     // the detour cannot be taken back

	early, end int // bytes of memory after the first tokens and at the end
	ended      bool
}

// deed is what a plugin did in a call.
type deed struct{ export, did string }

// converse holds a conversation three times: as it is, again, and with a detour that is taken back.
func (r *Report) converse(p *load.Plugin, o Options, seed uint64) {
	if p.Renders() {
		return
	}
	at := 1 + rand.New(rand.NewPCG(seed, 1)).IntN(max(1, o.Tokens/2))
	var first *conversation
	for _, way := range []struct {
		name   string
		detour int // from which token; 0: none
	}{{"the first time", 0}, {"the second time", 0}, {fmt.Sprintf("after tokens %d to %d were other ones and were taken back", at+1, at+detour), at}} {
		c := &conversation{plugin: p, seed: seed, tokens: o.Tokens, detour: way.detour, words: words, report: r}
		if err := c.run(o.Config); err != nil {
			r.find("conversation %d, token %d: %v", seed, len(c.steps)+1, err)
			return
		}
		if first == nil {
			first = c
		} else if token, was, is := first.differs(c); token > 0 && !c.void {
			r.find("conversation %d, token %d: %s the plugin did something else; what it does must depend on the request, its seed and the history only. First %s, then %s",
				seed, token, way.name, was, is)
			return
		}
	}
}

// differs finds the first token for which two conversations differ, from 1, and what the plugin
// did; 0: there is none.
func (c *conversation) differs(other *conversation) (token int, was, is string) {
	for i := range max(len(c.steps), len(other.steps)) {
		var a, b []deed
		if i < len(c.steps) {
			a = c.steps[i]
		}
		if i < len(other.steps) {
			b = other.steps[i]
		}
		for k := range max(len(a), len(b)) {
			if k >= len(a) || k >= len(b) || a[k] != b[k] {
				was, is = tell(a[min(k, len(a)):], b[min(k, len(b)):])
				return i + 1, was, is
			}
		}
	}
	return 0, "", ""
}

// tell shows the first of what two have done from where it differs.
func tell(a, b []deed) (was, is string) {
	x, y := deed{"the answer had ended", ""}, deed{"the answer had ended", ""}
	if len(a) > 0 {
		x = a[0]
	}
	if len(b) > 0 {
		y = b[0]
	}
	if x.export == y.export {
		n := 0
		for n < min(len(x.did), len(y.did)) && x.did[n] == y.did[n] {
			n++
		}
		if n > 20 {
			x.did, y.did = "…"+x.did[n:], "…"+y.did[n:]
		}
	}
	show := func(d deed) string {
		if d.did == "" {
			return d.export
		}
		return fmt.Sprintf("%s gave %.80s", d.export, d.did)
	}
	return show(x), show(y)
}

func (c *conversation) run(config []byte) error {
	prompt, media := c.words.Prompt(c.seed)
	request := plugin.RequestInfo{Config: config, Media: media, Seed: c.seed, MaxTokens: c.tokens, ContextSize: contextSize}
	a, err := drive.Begin(c.plugin, request, prompt, c.words, model{c.seed, c.plugin.Manifest.View, c.words}, c.call)
	if err != nil {
		return err
	}
	defer a.Close()
	for turn := 0; a.Tokens() < c.tokens && !a.Ended; turn++ {
		if turn == c.detour && c.detour > 0 {
			if err := c.takeDetour(a); err != nil || c.void {
				return err
			}
		}
		if err := c.step(a, uint64(len(a.History))); err != nil {
			return err
		}
		if turn == settled {
			c.early = a.Stage.Usage().Memory
		}
		if a.Calls > 2*c.tokens+256 {
			return fmt.Errorf("tokens were taken back too often: %d for an answer of %d", a.Calls, len(c.steps))
		}
	}
	c.end, c.ended = a.Stage.Usage().Memory, a.Ended
	c.report.held(c.end)
	return nil
}

func (c *conversation) step(a *drive.Answer, place uint64) error {
	c.turn = c.turn[:0]
	err := a.Step(place)
	if !c.soak && err == nil {
		c.steps = append(c.steps, slices.Clone(c.turn))
	}
	return err
}

// call is a drive.Caller.
func (c *conversation) call(s *stage.Stage, export string, call func() error, did func() []any) error {
	if err := call(); err != nil || slices.Contains(s.Declined(), export) {
		return err
	}
	if export == abi.ExportAccept && s.Traits().Foresees {
		export = abi.ExportDraft // the last call, whose fuel is known
	}
	c.report.used(export, s.Usage(), c.words)
	if list := did(); !c.soak && len(list) > 0 {
		c.turn = append(c.turn, deed{export, fmt.Sprint(list...)})
	}
	return nil
}

// takeDetour has the plugin follow other tokens, up to one that ends the answer, and takes them
// back. Where the plugin itself takes all of them back, or more, the detour tells nothing.
func (c *conversation) takeDetour(a *drive.Answer) error {
	before, steps := a.Mark(), len(c.steps)
	for i := 0; i < detour && !a.Ended; i++ {
		if err := c.step(a, uint64(1_000_000+i)); err != nil {
			return err
		}
	}
	c.steps, c.void = c.steps[:steps], a.TookAllBack()
	return a.Return(before)
}
