// SPDX-License-Identifier: MIT

package stage

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
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
		must.Get(r.Check(5, text))(t)
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
				got = must.Get(r.Check(5, text))(t)
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestRule_Check_SeesTheText(t *testing.T) {
	s := use(t, stopping(0), 1)
	must.Get(s.Rule().Check(5, "naïve"))(t)
	if got := string(s.instance.Memory()[atText : atText+6]); got != "naïve" || peek(s, hosttest.AtScratch+4) != 6 {
		t.Errorf("got %q, %d bytes", got, peek(s, hosttest.AtScratch+4))
	}
	must.Get(s.Rule().Check(5, strings.Repeat("a", 255)+"é"))(t)
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
	must.Do(t, a.Begin())
	return a
}

func unopened(t *testing.T, g *asm.Guest) *Stage {
	t.Helper()
	s := use(t, g, 1, 2)
	must.Do(t, s.closeInstance(true))
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
			must.Do(t, a.Rewind(tc.back))
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
			must.Do(t, a.Rewind(r.IntN(min(n, 5)+1)))
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
	must.Do(t, s.Reset([]scheduler.Token{1, 2}, 2))
	for _, text := range []string{"a", "bc", "d"} {
		s.session.History = append(s.session.History, 5)
		if text == "d" {
			continue
		}
		must.Get(r.Check(5, text))(t)
	}
	r.Rewind(0, 0)
	must.Do(t, s.Reset([]scheduler.Token{1, 2, 5, 5}, 2))
	if got, err := r.Check(5, "de"); err != nil || got != (answer.Verdict{End: true, Show: 3}) {
		t.Errorf("got %+v, %v; want the end after the 3 bytes bcd since the last 0", got, err)
	}
}

// filtering is a guest with a text buffer of 256 bytes and such a filter.
func filtering(code ...[]byte) *asm.Guest {
	g := hosttest.Plain()
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 256), i32(0))
	return g.On(abi.ExportFilter, code...)
}

// emits hands so many bytes at AtScratch to emit.
func emits(bytes int) []byte {
	return slices.Concat(i32(hosttest.AtScratch), i32(bytes), hosttest.Plain().Call(abi.ImportEmit))
}

func TestFilter_Filter_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   []byte
		text   string
		last   bool
		cause  error
		detail string
	}{
		"less than nothing":     {i32(-1), "a", false, plugin.CauseAnswer, "-1, it must be from 0 to 1"},
		"more than there is":    {i32(2), "a", false, plugin.CauseAnswer, "2, it must be from 0 to 1"},
		"a part of a character": {i32(1), "é", false, plugin.CauseAnswer, "inside a character"},
		"at the end":            {i32(1), "ab", true, plugin.CauseAnswer, "of the last text"},
		"no room":               {local(0), strings.Repeat("a", 257), false, plugin.CauseLimit, "no room"},
		"a trap":                {unreachable, "a", false, plugin.CauseTrap, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, filtering(tc.code), 1).Filter().Filter(tc.text, tc.last)
			hosttest.MustFault(t, err, abi.ExportFilter, tc.cause, tc.detail)
		})
	}
}

// What a filter writes is bounded by what it was given.
func TestFilter_Filter_WritesTooMuch(t *testing.T) {
	f := use(t, filtering(emits(30_000), i32(0)), 1).Filter()
	for n := 1; ; n++ {
		if _, err := f.Filter("a", false); err != nil {
			hosttest.MustFault(t, err, abi.ExportFilter, plugin.CauseLimit, "90000 bytes of text written for 3")
			return
		}
		if n == 3 {
			t.Fatal("there is no limit")
		}
	}
}

// A request that goes on without its filter loses none of the text, whether the plugin failed with
// it or had kept it back.
func TestFilter_Filter_SkippedShowsAll(t *testing.T) {
	g := filtering(i32(atText), asm.LoadByte, i32('x'), eq, when(unreachable), local(0))
	p := hosttest.Load(t, hosttest.Open(t, load.New), g)
	f := useOf(t, p, plugin.RequestInfo{Skip: true}, 1).Filter()
	var got string
	for _, text := range []string{"a", "b", strings.Repeat("c", 300), "d"} {
		shown := must.Get(f.Filter(text, text == "d"))(t)
		got += shown
	}
	if want := "ab" + strings.Repeat("c", 300) + "d"; got != want {
		t.Errorf("got %q", got)
	}
}

// What is emitted stands in the place of the text, also where it is empty, but for what is kept.
func TestFilter_Filter_Emitted(t *testing.T) {
	for text, want := range map[string]string{"": "ab", "é!": "é!é!", "\xff": "\uFFFD\uFFFD"} {
		g := filtering(emits(len(text)), i32(0)).Put(hosttest.AtScratch, text)
		if text == "" { // no call of emit
			g = filtering(i32(0))
		}
		f := use(t, g, 1).Filter()
		first := must.Get(f.Filter("a", false))(t)
		second, err := f.Filter("b", true)
		if got := first + second; got != want || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	g := filtering(emits(0), i32(0))
	if shown, err := use(t, g, 1).Filter().Filter("a", false); shown != "" || err != nil {
		t.Errorf("an empty text: %q, %v", shown, err)
	}
}

// A random world: tokens come, are injected and taken back. The filter keeps some text back and
// counts its calls: an instance that was begun anew has had those that stand, and a reader has all
// of the text in the end.
func TestFilter_Unfilter_RandomWorld(t *testing.T) {
	r := steadytest.Rand(t)
	for range 20 {
		g := filtering(global(0), i32(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store,
			local(1), when(i32(0), ret), local(0), i32(3), asm.And) // 0 to 3 bytes are kept back
		g.Globals = 1
		s := unopened(t, g)
		a := answer.New(chain.New([]chain.Stage{s}, 100, 0), []scheduler.Token{1, 2}, answer.Settings{
			Filters: []answer.Filter{s.Filter()}, Longest: 100_000, VocabularySize: 100, Vocabulary: numbers{}})
		must.Do(t, a.Begin())
		var client, text strings.Builder
		read := func() {
			for _, shown := range a.Output().Shown {
				if kept := client.String(); !shown.IsToken() {
					client.Reset()
					client.WriteString(strings.TrimSuffix(kept, shown.Text))
					continue
				}
				client.WriteString(shown.Text)
			}
			a.Output().Reset()
		}
		for range 100 {
			switch n := a.Generated(); r.IntN(4) {
			case 0:
				a.Inject([]scheduler.Token{1 + r.Int32N(99)})
			case 1:
				must.Do(t, a.Rewind(r.IntN(min(n, 5)+1)))
			default:
				a.Advance(1+r.Int32N(99), answer.Details{})
			}
			read()
			if got, want := int(peek(s, hosttest.AtScratch)), len(s.filter.calls); got != want {
				t.Fatalf("the instance was called %d times; %d calls stand", got, want)
			}
		}
		a.Finish("")
		read()
		for _, token := range a.Tokens()[a.PromptLen():] {
			text.WriteString(numbers{}.Piece(token))
		}
		if got := client.String() + a.Flush(); got != text.String() {
			t.Fatalf("the client has %q of %q; %v", got, text.String(), a.Output().Err)
		}
	}
}
