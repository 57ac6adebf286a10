// SPDX-License-Identifier: MIT

package check

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// contextSize is the size of the context that plugins are told, in tokens.
const contextSize = 4096

// detourTokens is how many tokens a detour has.
const detourTokens = 5

// settledTokens is the number of tokens after which a plugin has allocated what it needs.
const settledTokens = 16

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

// tryConversation holds a conversation three times: plainly, again, and with a detour that is taken
// back.
func (r *Report) tryConversation(p *load.Plugin, o Options, seed uint64) {
	if p.Renders() {
		return
	}
	at := 1 + rand.New(rand.NewPCG(seed, 1)).IntN(max(1, o.Tokens/2))
	var first *conversation
	for _, way := range []struct {
		name   string
		detour int // from which token; 0: none
	}{{"the first time", 0}, {"the second time", 0}, {fmt.Sprintf("after tokens %d to %d were other ones and were taken back", at+1, at+detourTokens), at}} {
		c := &conversation{plugin: p, seed: seed, tokens: o.Tokens, detour: way.detour, words: words, report: r}
		if err := c.run(o.Config); err != nil {
			r.addFinding("conversation %d, token %d: %v", seed, len(c.steps)+1, err)
			return
		}
		if first == nil {
			first = c
		} else if token, was, is := first.findDifference(c); token > 0 && !c.void {
			r.addFinding("conversation %d, token %d: %s the plugin did something else; what it does must depend on the request, its seed and the history only. First %s, then %s",
				seed, token, way.name, was, is)
			return
		}
	}
}

// findDifference finds the first token for which two conversations differ, from 1, and what the
// plugin did; 0: there is none.
func (c *conversation) findDifference(other *conversation) (token int, was, is string) {
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
				was, is = describeDifference(a[min(k, len(a)):], b[min(k, len(b)):])
				return i + 1, was, is
			}
		}
	}
	return 0, "", ""
}

// describeDifference shows the first deeds of two lists, from where their texts differ.
func describeDifference(a, b []deed) (was, is string) {
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
		if turn == settledTokens {
			c.early = a.Stage.Usage().Memory
		}
		if a.Calls > 2*c.tokens+256 {
			return fmt.Errorf("tokens were taken back too often: %d for an answer of %d", a.Calls, len(c.steps))
		}
	}
	c.end, c.ended = a.Stage.Usage().Memory, a.Ended
	c.report.noteMemory(c.end)
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
	c.report.noteFuel(export, s.Usage(), c.words)
	if list := did(); !c.soak && len(list) > 0 {
		c.turn = append(c.turn, deed{export, fmt.Sprint(list...)})
	}
	return nil
}

// takeDetour has the plugin follow other tokens, up to one that ends the answer, and takes them
// back. Where the plugin itself takes all of them back, or more, the detour tells nothing.
func (c *conversation) takeDetour(a *drive.Answer) error {
	before, steps := a.Mark(), len(c.steps)
	for i := 0; i < detourTokens && !a.Ended; i++ {
		if err := c.step(a, uint64(1_000_000+i)); err != nil {
			return err
		}
	}
	c.steps, c.void = c.steps[:steps], a.TookAllBack()
	return a.Return(before)
}

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

// tryProgram has a program write an answer twice: with the same rows it must do the same.
func (r *Report) tryProgram(p *load.Plugin, o Options, seed uint64) {
	var first *writing
	for range 2 {
		w := &writing{plugin: p, words: words, seed: seed, tokens: o.Tokens, waits: 100 * (o.Tokens + 1), report: r}
		if err := w.run(o.Config); err != nil {
			r.addFinding("answer %d, wait %d: %v", seed, len(w.shown)+1, err)
			return
		}
		if first == nil {
			first = w
			continue
		}
		for i := range max(len(first.shown), len(w.shown)) {
			if i >= len(first.shown) || i >= len(w.shown) || first.shown[i] != w.shown[i] {
				r.addFinding("answer %d, wait %d: the second time the plugin did something else; what it does must depend on the request, its seed and what the model says only. "+
					"First it showed %s, then %s", seed, i+1, describeWait(first.shown, i), describeWait(w.shown, i))
				return
			}
		}
	}
}

// describeWait tells what a program had shown by one of its waits, if it came so far.
func describeWait(waits []string, i int) string {
	if i >= len(waits) {
		return "no more, and had ended"
	}
	return fmt.Sprintf("%.80s", waits[i])
}

func (w *writing) run(config []byte) (err error) {
	history, media := w.words.Prompt(w.seed)
	count, memory := 0, 0
	used, err := drive.Writing{
		Vocabulary: w.words, Row: w.row, Draw: drawAny,
		Opened: func(u stage.Usage) {
			w.report.noteFuel(abi.ExportOpen, u, w.words)
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
	w.report.noteFuel(abi.ExportRun, stage.Usage{Fuel: used.Fuel / int64(max(1, len(w.shown))), Limit: abi.LimitHookFuel}, w.words)
	w.report.noteMemory(max(memory, used.Memory))
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

// drawAny draws any token that has a logit.
func drawAny(v *chain.View, random *rand.Rand) error {
	narrowView(v, len(v.Row))
	if v.N == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = v.ID[random.IntN(v.N)]
	return nil
}

var words = drive.NewWords(0)

// model says something else for each seed: what models say, and what is as extreme as it can be.
type model struct {
	seed  uint64
	kind  load.View
	words *drive.Words
}

// View implements drive.Model.
func (m model) View(place uint64, p chain.Prepared) *chain.View {
	r := rand.New(rand.NewPCG(m.seed, place))
	v := &chain.View{Row: m.row(r), N: -1, Chosen: -1}
	drive.Prepare(v.Row, p)
	if m.kind != load.ViewLogits && r.IntN(2) == 0 {
		narrowView(v, 1+r.IntN(64))
	}
	return v
}

// row makes the logits: mostly like a model's, sometimes extreme ones.
func (m model) row(r *rand.Rand) []float32 {
	row := make([]float32, m.words.Size())
	kind := r.IntN(8)
	for t := range row {
		switch kind {
		case 0:
			row[t] = 0 // all alike
		case 1:
			row[t] = drive.Banned // all but one
		case 2:
			row[t] = float32(r.NormFloat64()) * 1e30
		case 3:
			row[t] = float32(r.NormFloat64()) * math.SmallestNonzeroFloat32 * 100
		default:
			row[t] = float32(r.NormFloat64() * 5)
		}
	}
	likely := r.IntN(len(row))
	switch kind {
	case 1:
		row[likely] = -3
	case 4:
		row[likely] = 50
	case 5:
		if m.kind != load.ViewLogits { // broken logits never reach a candidates view
			row[likely] = float32(math.NaN())
		}
	}
	return row
}

// narrowView leaves the first n tokens that have a logit, as a stage before might.
func narrowView(v *chain.View, n int) {
	v.ID, v.Logit, v.N = v.ID[:0], v.Logit[:0], 0
	for t, l := range v.Row {
		if l > drive.Banned && v.N < n {
			v.ID, v.Logit, v.N = append(v.ID, scheduler.Token(t)), append(v.Logit, l), v.N+1
		}
	}
}

// Text implements drive.Model: a token's piece, or nothing, or more than a buffer has room for.
func (m model) Text(place uint64, t scheduler.Token) string {
	r := rand.New(rand.NewPCG(m.seed+1, place))
	switch r.IntN(12) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("naïve ☃ ", 1+r.IntN(80))
	}
	return strings.ToValidUTF8(m.words.Piece(t), "\uFFFD")
}
