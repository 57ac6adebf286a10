// SPDX-License-Identifier: MIT

package plugintest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/grammar"
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
