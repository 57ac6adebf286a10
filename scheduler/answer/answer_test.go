// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// numbers is a vocabulary in which each token is its number and a space; 99 ends the answer.
type numbers struct{}

func (numbers) Piece(t chain.Token) string         { return strconv.Itoa(int(t)) + " " }
func (numbers) ControlText(t chain.Token) string   { return "<" + strconv.Itoa(int(t)) + ">" }
func (numbers) EndOfGeneration(t chain.Token) bool { return t == 99 }

// editor is a stage that replaces token 13 and the one before it, if it may.
type editor struct {
	hold    int
	told    []chain.Token // the answer, as it was told
	refused error
}

func (e *editor) Traits() chain.Traits    { return chain.Traits{Hold: e.hold, Refuse: e.refuse} }
func (e *editor) Native() bool            { return false }
func (e *editor) Apply(*chain.View) error { return nil }
func (e *editor) Close() error            { return nil }

func (e *editor) Accept(t chain.Token) (chain.Effect, error) {
	if e.told = append(e.told, t); t != 13 {
		return chain.Effect{}, nil
	}
	e.told = e.told[:len(e.told)-2]
	return chain.Effect{Splice: true, Backtrack: 2, Tokens: []chain.Token{7, 8}}, nil
}

func (e *editor) Reset(history []chain.Token, prompt int) error {
	e.told = append(e.told[:0], history[prompt:]...)
	return nil
}

func (e *editor) refuse(_ chain.Act, why error) error {
	e.refused = why
	return nil
}

func begin(t *testing.T, s Settings, stages ...chain.Stage) *Answer {
	t.Helper()
	a := queued(s, stages...)
	must.Do(t, a.Begin())
	return a
}

// queued is an answer to the prompt 1 2 that has not begun.
func queued(s Settings, stages ...chain.Stage) *Answer {
	s.Vocabulary, s.VocabularySize = numbers{}, 100
	if s.Longest == 0 {
		s.Longest = 1000
	}
	return New(chain.New(stages, 100, 0), []chain.Token{1, 2}, s)
}

// shown is the text shown so far, with ⌫ and the text in brackets where some of it was taken back.
func shown(a *Answer) (text string) {
	for _, s := range a.Output().Shown {
		if s.More != nil && s.More.TakenBack > 0 {
			text += "⌫[" + s.Text + "]"
		} else {
			text += s.Text
		}
	}
	return text
}

func TestAnswer_Advance_Ends(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		tokens   []chain.Token
		want     Reason
		text     string
	}{
		"goes on":       {Settings{}, []chain.Token{5, 6}, 0, "5 6 "},
		"end token":     {Settings{}, []chain.Token{5, 99}, ReasonStop, "5 "},
		"ignored":       {Settings{IgnoreEOG: true}, []chain.Token{5, 99}, 0, "5 99 "},
		"stop token":    {Settings{StopTokens: []chain.Token{6}}, []chain.Token{5, 6}, ReasonStop, "5 "},
		"stop string":   {Settings{Stop: []string{" 6"}}, []chain.Token{5, 6}, ReasonStop, "5"},
		"preserved":     {Settings{Preserved: []chain.Token{5, 99}}, []chain.Token{4, 5, 99}, ReasonStop, "4 <5><99>"},
		"max tokens":    {Settings{MaxTokens: 2}, []chain.Token{5, 6}, ReasonLength, "5 6 "},
		"context":       {Settings{Longest: 4}, []chain.Token{5, 6}, ReasonLength, "5 6 "},
		"no such token": {Settings{}, []chain.Token{5, 100}, ReasonError, "5 "},
	} {
		a := begin(t, c.settings, &editor{})
		for _, token := range c.tokens {
			a.Advance(token, Details{})
		}
		if out := a.Output(); out.Reason != c.want || shown(a) != c.text {
			t.Errorf("%s: %v after %q, want %v after %q", name, out.Reason, shown(a), c.want, c.text)
		}
	}
}

// A control token whose text is a stop string ends the answer as that text would.
func TestAnswer_Advance_ControlTokenIsStopString(t *testing.T) {
	for _, c := range []struct {
		stop []string
		at   chain.Token
		want string
	}{{[]string{"x", "<6>"}, 6, "<6>"}, {[]string{"<7>"}, 6, ""}, {[]string{"<99>"}, 99, ""}} {
		a := begin(t, Settings{Stop: c.stop, StopTokens: []chain.Token{6}}, &editor{})
		a.Advance(5, Details{})
		a.Advance(c.at, Details{})
		if out := a.Output(); out.Reason != ReasonStop || out.Stop != c.want || (out.EndToken == nil) != (c.want != "") || shown(a) != "5 " {
			t.Errorf("%q: %+v after %q", c.stop, out, shown(a))
		}
	}
}

// closer is a stage and a rule that ends the answer at its token.
type closer struct {
	*editor
	name string
	at   chain.Token
}

func (c closer) Name() string         { return c.name }
func (c closer) Traits() chain.Traits { return chain.Traits{Name: c.name} }

func (c closer) Accept(t chain.Token) (chain.Effect, error) {
	return chain.Effect{Stop: t == c.at}, nil
}

func (c closer) Check(t chain.Token, _ string) (Verdict, error) {
	return Verdict{End: t == c.at, Show: -1}, nil
}

// It is told who has ended an answer: the first of those who would, and nobody where a token, a
// text or the length has.
func TestAnswer_Output_TellsWhoEndedIt(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		stages   []chain.Stage
		want     string
	}{
		"a stage":             {Settings{}, []chain.Stage{&editor{}, closer{&editor{}, "one", 6}, closer{&editor{}, "two", 6}}, "one"},
		"a rule":              {Settings{Rules: []StopRule{closer{&editor{}, "rule", 6}}}, nil, "rule"},
		"a rule without name": {Settings{Rules: []StopRule{ending{Verdict{End: true}}}}, nil, ""},
		"a program":           {Settings{}, nil, "program"},
		"a text":              {Settings{Stop: []string{"6"}}, []chain.Stage{closer{&editor{}, "one", 6}}, ""},
		"a held text":         {Settings{Stop: []string{"5"}}, []chain.Stage{&editor{hold: 2}, closer{&editor{}, "one", 6}}, ""},
		"an end token":        {Settings{StopTokens: []chain.Token{6}}, []chain.Stage{closer{&editor{}, "one", 6}}, ""},
		"the length":          {Settings{MaxTokens: 2}, nil, ""},
	} {
		a := begin(t, c.settings, append(c.stages, &editor{})...)
		for _, token := range []chain.Token{5, 6} {
			if a.Output().Reason == 0 {
				a.Advance(token, Details{})
			}
		}
		a.Finish("program")
		if out := a.Output(); out.Reason == 0 || out.By != c.want {
			t.Errorf("%s: %v by %q, want %q", name, out.Reason, out.By, c.want)
		}
	}
}

// The last tokens are shown when no stage can take them back any more, or when the answer ends.
func TestAnswer_Advance_HoldsWhatMayBeTakenBack(t *testing.T) {
	e := &editor{hold: 2}
	a := begin(t, Settings{}, e)
	for i, want := range []string{"", "", "4 ", "4 "} { // 5 and 13 become 7 and 8
		if a.Advance([]chain.Token{4, 5, 13, 99}[i], Details{}); i < 3 && shown(a) != want {
			t.Errorf("after %d tokens %q is shown, want %q", i+1, shown(a), want)
		}
	}
	if shown(a) != "4 7 8 " || !slices.Equal(a.Tokens(), []chain.Token{1, 2, 4, 7, 8}) || a.Output().Unchanged != 3 || a.Output().Reason != ReasonStop {
		t.Errorf("%q of %v, %+v", shown(a), a.Tokens(), a.Output())
	}
	if !slices.Equal(e.told, []chain.Token{4, 7, 8}) {
		t.Errorf("the stage was told %v", e.told)
	}
}

// A stage that needs less than its most for a conversation has less held.
func TestAnswer_Begin_HoldsWhatTheConversationNeeds(t *testing.T) {
	a := begin(t, Settings{}, modest{&editor{hold: 5}})
	for i, want := range []string{"", "4 ", "4 5 "} {
		if a.Advance([]chain.Token{4, 5, 6}[i], Details{}); shown(a) != want {
			t.Errorf("after %d tokens %q is shown, want %q", i+1, shown(a), want)
		}
	}
}

// modest needs one token held, once it knows the conversation.
type modest struct{ *editor }

func (m modest) Traits() chain.Traits {
	traits := m.editor.Traits()
	traits.Needs = func() chain.Needs {
		if m.told == nil {
			return chain.Needs{Hold: traits.Hold}
		}
		return chain.Needs{Hold: 1}
	}
	return traits
}

func (m modest) Reset(history []chain.Token, prompt int) error {
	m.editor.told = append([]chain.Token{}, history[prompt:]...)
	return nil
}

func TestAnswer_Splice_BeyondTheHoldIsRefused(t *testing.T) {
	e := &editor{hold: 1}
	a := begin(t, Settings{}, e)
	for _, token := range []chain.Token{4, 5, 13, 6} {
		a.Advance(token, Details{})
	}
	if e.refused == nil || shown(a) != "4 5 13 " || a.Output().Reason != 0 {
		t.Errorf("refused for %v; %q, %v", e.refused, shown(a), a.Output().Reason)
	}
}

// What was shown is taken back by name; what is held goes with its tokens.
func TestAnswer_Rewind_CutsTheCache(t *testing.T) {
	e := &editor{hold: 1}
	a := begin(t, Settings{}, e)
	a.Inject([]chain.Token{4, 5, 6})
	out := a.Output()
	out.Reset()
	if out.Unchanged != math.MaxInt || len(out.Shown) > 0 {
		t.Errorf("after the reset: %+v", out)
	}
	must.Do(t, a.Rewind(2))
	a.Advance(7, Details{})
	a.Advance(8, Details{})
	if !slices.Equal(a.Tokens(), []chain.Token{1, 2, 4, 7, 8}) || out.Unchanged != 3 || a.Generated() != 3 || shown(a) != "⌫[5 ]7 " {
		t.Errorf("%v, %d generated, %q, %+v", a.Tokens(), a.Generated(), shown(a), out)
	}
}

// A splice that reaches behind what is held, because a rewind has emptied the hold window, takes
// back what was shown, in its place.
func TestAnswer_Splice_AfterARewindTakesBackWhatWasShown(t *testing.T) {
	a := begin(t, Settings{}, &editor{hold: 2})
	a.Inject([]chain.Token{4, 5, 6, 7})
	must.Do(t, a.Rewind(2))
	for _, token := range []chain.Token{13, 1, 2} {
		a.Advance(token, Details{})
	}
	if want := "4 5 ⌫[5 ]7 8 "; shown(a) != want || !slices.Equal(a.Tokens(), []chain.Token{1, 2, 4, 7, 8, 1, 2}) {
		t.Errorf("%q of %v, want %q", shown(a), a.Tokens(), want)
	}
}

// So does a stage that goes back time after time, each time no further than its hold.
func TestAnswer_Splice_AgainAndAgainTakesBackWhatWasShown(t *testing.T) {
	a := begin(t, Settings{}, shrinking{hold: 2})
	for _, token := range []chain.Token{4, 5, 6, 13, 13, 13} {
		a.Advance(token, Details{})
	}
	if want := "4 ⌫[4 ]"; shown(a) != want || !slices.Equal(a.Tokens(), []chain.Token{1, 2}) {
		t.Errorf("%q of %v, want %q", shown(a), a.Tokens(), want)
	}
}

// shrinking is a stage that takes token 13 and the one before it back, and puts nothing in their
// place.
type shrinking struct{ hold int }

func (shrinking) Native() bool                   { return false }
func (s shrinking) Traits() chain.Traits         { return chain.Traits{Hold: s.hold} }
func (shrinking) Apply(*chain.View) error        { return nil }
func (shrinking) Close() error                   { return nil }
func (shrinking) Reset([]chain.Token, int) error { return nil }

func (shrinking) Accept(t chain.Token) (chain.Effect, error) {
	return chain.Effect{Splice: t == 13, Backtrack: 2}, nil
}

// A client may inject and rewind while the request waits for its slot. Stages and rules hear of
// nothing before Begin, and then of the tokens as of any that a client injects.
func TestAnswer_Inject_BeforeBegin_WaitsForIt(t *testing.T) {
	for name, c := range map[string]struct {
		injected []chain.Token
		rewind   int
		want     []chain.Token // of the answer
	}{
		"injected":                      {[]chain.Token{4, 5, 6}, 0, []chain.Token{4, 5, 6}},
		"taken back":                    {[]chain.Token{4, 5, 6}, 2, []chain.Token{4}},
		"all taken back":                {[]chain.Token{4, 5, 6}, 3, nil},
		"a token that the stage edits":  {[]chain.Token{4, 5, 13}, 0, []chain.Token{4, 7, 8}},
		"a token that the rule ends at": {[]chain.Token{4, 99}, 0, []chain.Token{4, 99}},
	} {
		e, rule := &editor{hold: 2}, &seen{}
		a := queued(Settings{Rules: []StopRule{rule}}, e)
		if a.Inject(c.injected); c.rewind > 0 {
			must.Do(t, a.Rewind(c.rewind))
		}
		if len(e.told)+len(rule.tokens) > 0 {
			t.Errorf("%s: before Begin the stage was told %v and the rule %v", name, e.told, rule.tokens)
		}
		if want := len(c.injected) - c.rewind; len(a.Early()) != want || len(a.Expected()) != a.PromptLen()+want {
			t.Errorf("%s: %v wait and %v is expected", name, a.Early(), a.Expected())
		}
		must.Do(t, a.Begin())
		if a.InjectEarly(); !a.Output().ended() {
			a.finish(ReasonLength) // what the hold window has is shown to the rule
		}
		if !slices.Equal(e.told, c.want) || !slices.Equal(a.Tokens()[a.PromptLen():], c.want) || !slices.Equal(rule.tokens, c.want) {
			t.Errorf("%s: the answer is %v, the stage was told %v and the rule %v, want %v", name, a.Tokens(), e.told, rule.tokens, c.want)
		}
		if wantsEnd := slices.Contains(c.want, 99); (a.Output().Reason == ReasonStop) != wantsEnd {
			t.Errorf("%s: it ends with %v", name, a.Output().Reason)
		}
	}
}

// seen is a rule that remembers the tokens, and ends the answer at 99.
type seen struct{ tokens []chain.Token }

func (s *seen) Check(t chain.Token, _ string) (Verdict, error) {
	s.tokens = append(s.tokens, t)
	return Verdict{End: t == 99, Show: -1}, nil
}

func (*seen) Close() error { return nil }

func TestAnswer_Fail_KeepsTheError(t *testing.T) {
	a := begin(t, Settings{}, &editor{})
	cause := errors.New("no more memory")
	a.Fail(cause)
	a.Output().Reset()
	if out := a.Output(); out.Reason != ReasonError || !errors.Is(out.Err, cause) {
		t.Errorf("%+v", out)
	}
}

// noter says something of each token when it is asked, and forgets it with a reset.
type noter struct {
	shrinking
	says []string
}

func (n *noter) Traits() chain.Traits { return chain.Traits{Notes: n.take} }
func (n *noter) take() (said []string) {
	said, n.says = n.says, nil
	return said
}

func (*noter) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// What a stage has said of a token stays with it, also where a stage before takes the token back.
func TestAnswer_Splice_NotesStayWithTheTokenTakenBack(t *testing.T) {
	n := &noter{}
	a := begin(t, Settings{}, &editor{hold: 2}, n)
	a.Advance(4, Details{Trace: &chain.Trace{}})
	n.says = []string{"likely"}
	taken := &chain.Trace{}
	a.Advance(13, Details{Trace: taken}) // 7 and 8 come in its place
	if len(taken.Notes) != 1 || taken.Notes[0].Text != "likely" || len(n.says) > 0 {
		t.Errorf("of the token taken back %v is told, of the next %v", taken.Notes, n.says)
	}
}

// grown is an answer to the prompt 1 2 of which n tokens were drawn: 10, 11 and so on.
func grown(t *testing.T, s Settings, n int) *Answer {
	t.Helper()
	a := begin(t, s, &editor{hold: 100})
	for i := range n {
		a.Advance(chain.Token(20+i), Details{})
	}
	return a
}

func TestAnswer_Context_Shifts(t *testing.T) {
	for name, c := range map[string]struct {
		shift Shift
		n     int
		want  []chain.Token
	}{
		"not yet":         {Shift{}, 5, []chain.Token{1, 2, 20, 21, 22, 23, 24}},
		"half":            {Shift{}, 6, []chain.Token{21, 22, 23, 24, 25}},
		"again":           {Shift{}, 10, []chain.Token{24, 25, 26, 27, 28, 29}},
		"the prompt":      {Shift{Keep: -1}, 6, []chain.Token{1, 2, 22, 23, 24, 25}},
		"one token":       {Shift{Keep: 1}, 6, []chain.Token{1, 22, 23, 24, 25}},
		"two at a time":   {Shift{Keep: 1, Discard: 2}, 6, []chain.Token{1, 21, 22, 23, 24, 25}},
		"all that may go": {Shift{Discard: 1000}, 6, []chain.Token{24, 25}},
		"too much kept":   {Shift{Keep: 1000}, 6, []chain.Token{1, 2, 20, 21, 23, 24, 25}},
	} {
		a := grown(t, Settings{Longest: 8, Shift: &c.shift}, c.n)
		if diff := cmp.Diff(c.want, a.Context()); diff != "" || a.Output().Reason != 0 {
			t.Errorf("%s: %v %s", name, a.Output().Reason, diff)
		}
		if len(a.Tokens()) != 2+c.n || a.Truncated() != (c.n > 5) {
			t.Errorf("%s: %d tokens, truncated %v", name, len(a.Tokens()), a.Truncated())
		}
	}
}

// What is taken back leaves a context that ends as it did when the answer was as long, and begins
// with what stays.
func TestAnswer_Rewind_AcrossAShift(t *testing.T) {
	for _, keep := range []int{0, 1, -1, 1000} {
		rewindAcross(t, Settings{Longest: 8, Shift: &Shift{Keep: keep}})
	}
}

func rewindAcross(t *testing.T, s Settings) {
	t.Helper()
	for back := 1; back <= 13; back++ {
		a := grown(t, s, 13)
		must.Do(t, a.Rewind(back))
		got, want := a.Context(), grown(t, s, 13-back).Context()
		if len(got) >= s.Longest || got[len(got)-1] != want[len(want)-1] || s.Shift.Keep != 0 && got[0] != want[0] {
			t.Errorf("%d kept, %d taken back: %v, before %v", s.Shift.Keep, back, got, want)
		}
		if u := a.Output().Unchanged; u > len(got) {
			t.Errorf("%d taken back: %d of %d tokens are unchanged", back, u, len(got))
		}
	}
}

// A rule can end an answer as one that has become too long.
func TestAnswer_Rule_Limit(t *testing.T) {
	for limit, want := range map[bool]Reason{false: ReasonStop, true: ReasonLength} {
		a := begin(t, Settings{Rules: []StopRule{ending{Verdict{End: true, Limit: limit, Show: 2}}}}, &editor{})
		a.Advance(20, Details{})
		if out := a.Output(); out.Reason != want || shown(a) != "20" {
			t.Errorf("%v after %q", out.Reason, shown(a))
		}
	}
}

// ending is a rule with one verdict.
type ending struct{ verdict Verdict }

func (e ending) Check(chain.Token, string) (Verdict, error) { return e.verdict, nil }
func (e ending) Close() error                               { return nil }

// A fork's first tokens are told with the log-probabilities that they had; those that were taken
// back and drawn again have their own.
func TestAnswer_BeginWith_TellsLogprobs(t *testing.T) {
	source := begin(t, Settings{}, &editor{hold: 1})
	source.Advance(4, Details{Logprobs: &chain.Logprobs{Token: -4, Row: []float32{0}}})
	source.Inject([]chain.Token{5})
	source.Advance(6, Details{Logprobs: &chain.Logprobs{Token: -6}})
	must.Do(t, source.Rewind(1))
	source.Advance(7, Details{Logprobs: &chain.Logprobs{Token: -7}})

	for early := range 2 { // a token of it is taken back, and another injected, before it begins
		fork := queued(Settings{}, &editor{hold: 1})
		fork.BeginWith(source.Answered())
		want := []float32{-4, 0, -7}
		if early == 1 {
			must.Do(t, fork.Rewind(1))
			fork.Inject([]chain.Token{8})
			want[2] = 0
		}
		must.Do(t, fork.Begin())
		fork.InjectEarly()
		fork.finish(ReasonLength)
		for i, s := range fork.Output().Shown {
			got := float32(0)
			if s.More != nil && s.More.Logprobs != nil {
				got = s.More.Logprobs.Token
				if s.More.Logprobs.Row != nil {
					t.Errorf("token %d has a row of all tokens: those of a long answer take gigabytes", i)
				}
			}
			if got != want[i] {
				t.Errorf("token %d, %d, has log-probability %v, want %v", i, s.Token, got, want[i])
			}
		}
		if n := len(fork.Output().Shown); n != len(want) {
			t.Errorf("%d tokens, want %d", n, len(want))
		}
	}
}
