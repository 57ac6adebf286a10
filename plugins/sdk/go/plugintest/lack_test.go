// SPDX-License-Identifier: MIT

package plugintest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// ended is a test that was ended.
type ended struct {
	testing.TB
	why string
}

func (e *ended) Helper()                      {}
func (e *ended) Cleanup(func())               {}
func (e *ended) Fatal(args ...any)            { e.why = fmt.Sprint(args...); runtime.Goexit() }
func (e *ended) Fatalf(f string, args ...any) { e.why = fmt.Sprintf(f, args...); runtime.Goexit() }

// ends tells why a test ends that does this, if it does.
func ends(f func(t testing.TB)) string {
	e, done := &ended{}, make(chan struct{})
	go func() { defer close(done); f(e) }()
	<-done
	return e.why
}

// bare is a plugin without methods that are called for a token; lost breaks what the ABI wants.
type (
	bare struct{}
	lost struct{}
)

func (bare) Close() {}

func (bare) Rewrite(m []penstock.Message) ([]penstock.Message, error) { return m, errors.New("never") }

func (lost) Sample(c *penstock.Candidates) penstock.Choice {
	c.Logits()[0] = c.Logits()[0] / 0 * 0
	return penstock.Edited
}

func (lost) Accept(penstock.Token) penstock.Accepted { return penstock.Splice(1, 0) }

// wild answers what a test has it answer.
type wild struct {
	forced, drafted, spliced []penstock.Token
	masked                   bool
	biased                   penstock.Token
	amount                   float32
	accepted                 penstock.Accepted
	verdict                  penstock.Verdict
}

var answers wild

func (*wild) Draft(int) []penstock.Token { return answers.drafted }
func (*wild) Stop(penstock.Token, []byte) penstock.Verdict {
	return answers.verdict
}

func (*wild) Prepare(n *penstock.Next) {
	if answers.masked {
		n.Mask()
	}
	n.Force(answers.forced...)
	n.Bias(answers.biased, answers.amount)
}

func (*wild) Accept(penstock.Token) penstock.Accepted {
	if answers.spliced != nil {
		return penstock.Splice(0, answers.spliced...)
	}
	return answers.accepted
}

// TestSession_EndsTheTest_WhereAnAnswerIsWrong has a plugin answer what the host would not take.
func TestSession_EndsTheTest_WhereAnAnswerIsWrong(t *testing.T) {
	penstock.Register[wild](penstock.Manifest{Name: "wild"})
	prepare := func(s *Session) { s.Prepare() }
	draft := func(s *Session) { s.Draft() }
	accept := func(s *Session) { s.Accept(1) }
	stop := func(s *Session) { s.Stop(1, "é") }
	none := []penstock.Token{1, 2} // there is no token 2
	for want, c := range map[string]struct {
		answers wild
		call    func(*Session)
	}{
		"":                                        {wild{forced: none[:1], drafted: none[:1], spliced: none[:1], amount: float32(math.Inf(-1)), verdict: penstock.EndAfter(2)}, func(s *Session) { prepare(s); draft(s); stop(s) }},
		"what comes instead names token 2":        {wild{forced: none}, prepare},
		"what comes instead names token 3":        {wild{spliced: []penstock.Token{3}}, accept},
		"draft names token 2":                     {wild{drafted: none}, draft},
		"a bias names token 2":                    {wild{biased: 2}, prepare},
		"the mask allows no token":                {wild{masked: true}, prepare},
		"the bias of token 1 is NaN":              {wild{biased: 1, amount: float32(math.NaN())}, prepare},
		"the bias of token 1 is +Inf":             {wild{biased: 1, amount: float32(math.Inf(1))}, prepare},
		"accept answers 3":                        {wild{accepted: 3}, accept},
		"accept answers -1":                       {wild{accepted: -1}, accept},
		"stop answers 4":                          {wild{verdict: 4}, stop},
		`stop answers -2; text that is not shown`: {wild{verdict: penstock.EndAfter(1)}, stop},
		`stop answers -4; text that is not shown`: {wild{verdict: penstock.EndAfter(3)}, stop},
		"prepare answers 0x8":                     {wild{}, func(s *Session) { guest.Prepare = func() int32 { return 8 }; s.Prepare() }},
		"draft answers 17; there is room for 16":  {wild{}, func(s *Session) { guest.Draft = func(n int32) int32 { return n + 1 }; s.Draft() }},
		"0 tokens cannot be left of 2, of which":  {wild{}, func(s *Session) { s.Accept(1); s.Rewind(0) }},
		"3 tokens cannot be left of 2, of which":  {wild{}, func(s *Session) { s.Accept(1); s.Rewind(3) }},
	} {
		answers = c.answers
		got := ends(func(t testing.TB) {
			c.call(Open[wild](t, Request{Pieces: []string{"a", "b"}, Prompt: []penstock.Token{0}}))
		})
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("it ends with %q, want %q", got, want)
		}
	}
	answers = wild{verdict: penstock.Hold}
	s := Open[wild](t, Request{Pieces: []string{"a", "b"}})
	s.Stop(0, "a")
	if answers.verdict = penstock.EndAfter(2); s.Stop(1, "b") != penstock.EndAfter(2) {
		t.Error("text that was held back cannot be shown")
	}
}

// TestSession_EndsTheTest has the test end, with the remedy, where the plugin asks for what is not
// here, and where it breaks the ABI.
func TestSession_EndsTheTest(t *testing.T) {
	penstock.Register[bare](penstock.Manifest{Name: "bare"})
	penstock.Register[lost](penstock.Manifest{Name: "lost"})
	words := Request{Pieces: []string{"a", "b"}, Prompt: []penstock.Token{0}}
	for want, f := range map[string]func(testing.TB){
		"branch_open is called, and a native test has no model": func(t testing.TB) { Open[bare](t, words); new(penstock.Run).Prompt() },
		"write a case for `penstock plugin test`":               func(t testing.TB) { Open[bare](t, words); _, _ = grammar.Open(grammar.GBNF, "root ::= x") },
		"no method for penstock_sample":                         func(t testing.TB) { Open[bare](t, words).Sample(nil, nil) },
		"not registered":                                        func(t testing.TB) { Open[ended](t, words) },
		"refused: never":                                        func(t testing.TB) { _, err := Open[bare](t, Request{Messages: "[]"}).Rewrite(); t.Fatal(err) },
		"none may be NaN":                                       func(t testing.TB) { Open[lost](t, words).Sample([]penstock.Token{0}, []float32{1}) },
		"0 may be taken back":                                   func(t testing.TB) { Open[lost](t, words).Accept(1) },
		"another session was opened":                            func(t testing.TB) { s := Open[lost](t, words); Open[bare](t, words); s.Accept(1) },
	} {
		if got := ends(f); !strings.Contains(got, want) {
			t.Errorf("it ends with %q, want %q", got, want)
		}
	}
}

// A function of the plugin's that asks the host can be called by itself while a session is open;
// without one it panics.
func TestSession_AnswersATest(t *testing.T) {
	t.Run("open", func(t *testing.T) {
		Open[bare](t, Request{Pieces: []string{"a"}})
		if got := string(penstock.Piece(0, nil)); got != "a" {
			t.Errorf("got %q", got)
		}
	})
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "plugintest.Open") {
			t.Errorf("it panics with %s", got)
		}
	}()
	penstock.VocabSize()
}
