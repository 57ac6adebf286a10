// SPDX-License-Identifier: MIT

package stage

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/steadytest"
)

// numbers are hosttest's words as an answer asks for them.
type numbers struct{ hosttest.Words }

func (numbers) ControlText(scheduler.Token) string     { return "" }
func (numbers) EndOfGeneration(t scheduler.Token) bool { return t == 0 }

// measuring is a stop rule that ends the answer with so many bytes of text: it counts what it is
// shown.
func measuring(bytes int, more ...string) *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 256), i32(0))
	for _, export := range more {
		g.On(export, i32(0))
	}
	return g.On(abi.ExportStop, global(0), local(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store,
		global(0), i32(bytes), asm.Less, when(i32(abi.StopShow), ret), i32(abi.StopEnd))
}

// answerOf is an answer to the prompt 1 2 with a stage, its rule and others.
func answerOf(t *testing.T, s *Stage, others ...chain.Stage) *answer.Answer {
	t.Helper()
	a := answer.New(chain.New(append([]chain.Stage{s}, others...), 100, 0), []scheduler.Token{1, 2}, answer.Settings{
		Rules: []answer.StopRule{s.Rule()}, Longest: 100_000, VocabularySize: 100, Vocabulary: numbers{}})
	if err := a.Begin(); err != nil {
		t.Fatal(err)
	}
	return a
}

func unopened(t *testing.T, g *asm.Guest) *Stage {
	t.Helper()
	s := use(t, g, 1, 2)
	if err := s.closeInstance(true); err != nil {
		t.Fatal(err)
	}
	return s
}

// A rule counts the text of the answer as it is, whatever was taken back before. Each of these
// ends at 8 bytes.
func TestRule_Rewind_CountsTheTextThatIsLeft(t *testing.T) {
	for name, more := range map[string][]string{"stop alone": nil, "with accept": {abi.ExportAccept}} {
		for _, tc := range []struct{ first, back int }{{3, 1}, {3, 2}, {3, 3}, {2, 1}} {
			a := answerOf(t, unopened(t, measuring(8, more...)))
			for range tc.first {
				a.Advance(5, answer.Details{})
			}
			if err := a.Rewind(tc.back); err != nil {
				t.Fatal(err)
			}
			for a.Output().Reason == 0 && a.Generated() < 50 {
				a.Advance(6, answer.Details{})
			}
			if got := 2 * a.Generated(); got != 8 || a.Output().Err != nil {
				t.Errorf("%s, %d of %d tokens taken back: the answer ends at %d bytes, want 8; %v", name, tc.back, tc.first, got, a.Output().Err)
			}
		}
	}
}

// holding is a stage that may take two tokens back, so what it holds is not shown to rules yet.
type holding struct{ chain.Stage }

func (holding) Traits() chain.Traits                         { return chain.Traits{Hold: 2} }
func (holding) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }
func (holding) Reset(_ []scheduler.Token, _ int) error       { return nil }
func (holding) Close() error                                 { return nil }

// A random world: tokens come, are injected and taken back, beside a stage that holds tokens. A
// rule that was begun anew has counted the text that is shown, no more and no less.
func TestRule_Rewind_RandomWorld(t *testing.T) {
	r := steadytest.Rand(t)
	for range 20 {
		world(t, r, rand.New(rand.NewPCG(r.Uint64(), 0)).IntN(2) == 0)
	}
}

func world(t *testing.T, r *rand.Rand, held bool) {
	t.Helper()
	s := unopened(t, measuring(1<<30, abi.ExportAccept))
	var others []chain.Stage
	if held {
		others = append(others, holding{})
	}
	a := answerOf(t, s, others...)
	for range 200 {
		switch n := len(a.Tokens()) - a.PromptLen(); r.IntN(4) {
		case 0:
			a.Inject([]scheduler.Token{r.Int32N(100)})
		case 1:
			if err := a.Rewind(r.IntN(min(n, 5) + 1)); err != nil {
				t.Fatal(err)
			}
		default:
			a.Advance(1+r.Int32N(99), answer.Details{})
		}
		shown := a.Released()
		var text strings.Builder
		for _, token := range a.Tokens()[a.PromptLen() : a.PromptLen()+shown] {
			text.WriteString(numbers{}.Piece(token))
		}
		if got := int(peek(s, hosttest.AtScratch)); got != text.Len() {
			t.Fatalf("the rule has counted %d bytes; %d are shown, of %v", got, text.Len(), a.Tokens())
		}
	}
}

// What a fresh instance holds back stays held, and what it answers beyond that changes nothing:
// the client has seen the text.
func TestRule_Rewind_FreshInstanceHoldsAgain(t *testing.T) {
	r := unopened(t, stopping(0, 3, -4)).Rule().(*rule)
	s := r.stage
	if err := s.Reset([]scheduler.Token{1, 2}, 2); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "bc", "d"} {
		s.session.History = append(s.session.History, 5)
		if text == "d" {
			continue
		}
		if _, err := r.Check(5, text); err != nil {
			t.Fatal(err)
		}
	}
	r.Rewind(0, 0)
	if err := s.Reset([]scheduler.Token{1, 2, 5, 5}, 2); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Check(5, "de"); err != nil || got != (answer.Verdict{End: true, Show: 3}) {
		t.Errorf("got %+v, %v; want the end after the 3 bytes bcd since the last 0", got, err)
	}
}
