// SPDX-License-Identifier: MIT

package stage

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/steadytest"
)

// stopping is a guest with a text buffer whose answers are the numbers given, call by call; the
// last one repeats. The number of calls lies at atScratch, the last length behind it.
func stopping(answers ...int) *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 256), i32(0))
	code := [][]byte{global(0), i32(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store, i32(hosttest.AtScratch + 4), local(1), store}
	for i, a := range answers[:len(answers)-1] {
		code = append(code, global(0), i32(i+1), eq, when(i32(a), ret))
	}
	return g.On(abi.ExportStop, append(code, i32(answers[len(answers)-1]))...)
}

// Text that was taken back does not count since the last 0.
func TestRule_Rewind_ForgetsWhatWasTakenBack(t *testing.T) {
	r := use(t, stopping(0, 3, 3, 1), 1).Rule()
	for _, text := range []string{"abc", "de", "fgh"} {
		if _, err := r.Check(5, text); err != nil {
			t.Fatal(err)
		}
	}
	r.(answer.RewindRule).Rewind(1, 3)
	if got, err := r.Check(5, "i"); err != nil || got != (answer.Verdict{End: true, Show: 3}) {
		t.Errorf("got %+v, %v; want the 3 bytes of dei", got, err)
	}
}

func TestRule_Check_Answers(t *testing.T) {
	long := strings.Repeat("é", 200) // 400 bytes: two calls of 256 and 144
	for name, tc := range map[string]struct {
		answers []int
		texts   []string
		want    answer.Verdict // of the last
	}{
		"show":                    {[]int{0}, []string{"a"}, answer.Verdict{}},
		"no text":                 {[]int{0}, []string{""}, answer.Verdict{}},
		"end":                     {[]int{1}, []string{"abc"}, answer.Verdict{End: true, Show: 3}},
		"hide":                    {[]int{3, 2}, []string{"abc", "d"}, answer.Verdict{End: true, Show: 0}},
		"hold":                    {[]int{0, 3}, []string{"abc", "d"}, answer.Verdict{Hold: true}},
		"a part":                  {[]int{3, -6}, []string{"Hel", "lo#"}, answer.Verdict{End: true, Show: 5}},
		"a part since the last 0": {[]int{0, 3, -3}, []string{"abc", "de", "f"}, answer.Verdict{End: true, Show: 2}},
		"nothing of it":           {[]int{3, -1}, []string{"abc", "de"}, answer.Verdict{End: true, Show: 0}},
		"long text":               {[]int{0}, []string{long}, answer.Verdict{}},
		"end in long text":        {[]int{1}, []string{long}, answer.Verdict{End: true, Show: 256}},
		"long text, half held":    {[]int{0, 3, -3}, []string{long, "x"}, answer.Verdict{End: true, Show: 258}},
		"half released, hidden":   {[]int{0, 3, 2}, []string{long, "x"}, answer.Verdict{End: true, Show: 256}},
		"released in the end":     {[]int{0, 3, 0, 2}, []string{long, "x", "y"}, answer.Verdict{End: true, Show: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := use(t, stopping(tc.answers...), 1).Rule()
			var got answer.Verdict
			for _, text := range tc.texts {
				var err error
				if got, err = r.Check(5, text); err != nil {
					t.Fatal(err)
				}
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestRule_Check_SeesTheText(t *testing.T) {
	s := use(t, stopping(0), 1)
	if _, err := s.Rule().Check(5, "naïve"); err != nil {
		t.Fatal(err)
	}
	if got := string(s.instance.Memory()[atText : atText+6]); got != "naïve" || peek(s, hosttest.AtScratch+4) != 6 {
		t.Errorf("got %q, %d bytes", got, peek(s, hosttest.AtScratch+4))
	}
	if _, err := s.Rule().Check(5, strings.Repeat("a", 255)+"é"); err != nil {
		t.Fatal(err)
	}
	if calls, last := peek(s, hosttest.AtScratch), peek(s, hosttest.AtScratch+4); calls != 3 || last != 2 {
		t.Errorf("%d calls, the last of %d bytes", calls, last)
	}
}

func TestRule_Check_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		answer int
		text   string
		cause  error
		detail string
	}{
		"an unknown answer":     {4, "a", plugin.CauseAnswer, "4, it must"},
		"more than there is":    {-3, "a", plugin.CauseAnswer, "2 bytes of 1"},
		"half a character":      {-2, "é", plugin.CauseAnswer, "part of a character"},
		"the smallest number":   {-1 << 31, "a", plugin.CauseAnswer, "2147483647 bytes"},
		"more held than it may": {3, strings.Repeat("a", abi.LimitHeldBytes+1), plugin.CauseLimit, "held back"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, stopping(tc.answer), 1).Rule().Check(5, tc.text)
			hosttest.MustFault(t, err, abi.ExportStop, tc.cause, tc.detail)
		})
	}
}

func TestStage_Rule_OnlyWhereThereIsOne(t *testing.T) {
	if r := use(t, hosttest.Plain(), 1).Rule(); r != nil {
		t.Errorf("got %v", r)
	}
}

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
