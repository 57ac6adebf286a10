// SPDX-License-Identifier: MIT

package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hostCall is a call of plugins/abi/testdata/hostcalls.json, which says what the fields mean.
type hostCall struct {
	Call   string
	Args   []any
	Answer int64
	Bits   string
	Wrote  []int
}

// make makes the call, and says what is not as it should be.
func (c hostCall) make(h host) error {
	name := strings.ReplaceAll(c.Call, "_", "")
	t := reflect.TypeFor[host]()
	for n := range t.NumMethod() {
		if strings.EqualFold(t.Method(n).Name, name) {
			return c.compare(reflect.ValueOf(h).Method(n))
		}
	}
	return fmt.Errorf("%s is no import", c.Call)
}

func (c hostCall) compare(method reflect.Value) error {
	var args []reflect.Value
	var buffer, want [256]byte // the last one is looked at
	for _, a := range c.Args {
		if n, ok := a.(float64); ok {
			args = append(args, reflect.ValueOf(int32(n)))
			continue
		}
		words := make([]uint32, 256/4) // aligned
		p := (*[256]byte)(unsafe.Pointer(&words[0]))
		copy(p[:], a.(string))
		want = *p
		args = append(args, reflect.ValueOf(unsafe.Pointer(p)))
	}
	results := method.Call(args)
	for _, a := range args {
		if a.Kind() == reflect.UnsafePointer {
			buffer = *(*[256]byte)(a.UnsafePointer())
		}
	}
	for i, b := range c.Wrote {
		want[i] = byte(b)
	}
	answer := c.Answer
	if bits, err := strconv.ParseUint(c.Bits, 16, 64); err == nil {
		answer = int64(bits)
	}
	if len(results) > 0 && results[0].CanFloat() && results[0].Float() != results[0].Float() {
		return nil // the script has NaN only
	}
	if len(results) > 0 && results[0].Int() != answer || !bytes.Equal(buffer[:], want[:]) {
		return fmt.Errorf("%s%v gives %v and %v; want %d and %v", c.Call, c.Args, results, buffer, answer, want)
	}
	return nil
}

// TestHost_Answers_AreTheHosts makes the calls that the real host answers the same way.
func TestHost_Answers_AreTheHosts(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../abi/testdata/hostcalls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Request struct {
			Config, Messages string
			Media            string
			Model, Sampling  string
			Pieces           []string
			Attributes       []penstock.Attributes
			Special          map[penstock.Special]penstock.Token
			Prompt           []penstock.Token
			MaxTokens        int `json:"max_tokens"`
			ContextSize      int `json:"context_size"`
			Seed             uint64
			Time             int64
			Choice, Choices  int
		}
		Open, Template []hostCall
	}
	if err := json.Unmarshal(text, &script); err != nil {
		t.Fatal(err)
	}
	q := script.Request
	attributes := map[penstock.Token]penstock.Attributes{}
	for i, a := range q.Attributes {
		attributes[penstock.Token(i)] = a
	}
	all := func(calls []hostCall) {
		if len(calls) == 0 {
			t.Error("there are no calls")
		}
		for _, c := range calls {
			if strings.HasPrefix(c.Call, "grammar_") {
				continue // the real host's, which a native test has none of
			}
			if err := c.make(host{s: current}); err != nil {
				t.Error(err)
			}
		}
	}
	asks = asking{func() { all(script.Open) }, func() { all(script.Template) }}
	s := Open[asking](t, Request{q.Config, q.Messages, q.Media, q.Pieces, attributes, q.Special, q.Prompt, q.MaxTokens, q.ContextSize, q.Seed, q.Model, q.Sampling, q.Time, q.Choice, q.Choices, nil})
	if len(s.Logs) != 1 || s.Logs[0] != "a line" || s.refusal != "no reason" || len(s.Outputs) != 1 || s.Outputs[0] != `{"a": 1}` {
		t.Errorf("logged %q, failed with %q, gave %q", s.Logs, s.refusal, s.Outputs)
	}
	if got, err := s.Render(); err != nil || got != "a prompt" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHost_Config_HasDefaults fills in what the schema says, as the host does.
func TestHost_Config_HasDefaults(t *testing.T) {
	penstock.Register[asking](penstock.Manifest{Name: "defaults", ConfigSchema: `{"properties":{
		"a":{"default":1}, "b":{"type":"string"}, "n":{"default":null}, "d":{"default":{},"properties":{"in":{"default":2}}}, "o":{"properties":{"x":{"default":"<y>"}}}}}`})
	for config, want := range map[string]string{
		``:                            `{"a":1,"d":{"in":2},"n":null}`,
		`{"a":2,"n":3,"d":5}`:         `{"a":2,"d":5,"n":3}`,
		`{"o":{},"d":{"in":7},"b":0}`: `{"a":1,"b":0,"d":{"in":7},"n":null,"o":{"x":"<y>"}}`,
	} {
		asks = asking{func() {}, nil}
		s := Open[asking](t, Request{Config: config})
		var got [256]byte
		n := host{s: s}.Config(unsafe.Pointer(&got[0]), 256)
		var value any
		text := string(got[:n])
		if json.Unmarshal(got[:n], &value) == nil {
			again, _ := json.Marshal(value)
			text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(again))
		}
		if text != want {
			t.Errorf("%s: got %s, want %s", config, text, want)
		}
	}
}

// asking is a plugin that asks the host; asks is what.
type asking struct{ open, render func() }

var (
	asks asking
	_    = penstock.Register[asking](penstock.Manifest{Name: "test"})
)

func (*asking) Open(*penstock.Request) error { asks.open(); return nil }

func (*asking) Render([]penstock.Message) (string, error) { asks.render(); return "", nil }

func TestHost_Text_IsThatOfTheTokensLeft(t *testing.T) {
	asks = asking{func() {}, func() {}}
	s := Open[asking](t, Request{Pieces: []string{"na", "\xc3", "\xaf", "ve"}, Prompt: []penstock.Token{3}})
	var buffer [64]byte
	for _, c := range []struct {
		accept penstock.Token
		rewind int
		from   int32
		want   string
	}{
		{0, 0, 0, "na"}, {1, 0, 0, "na"}, {2, 0, 0, "naï"}, {3, 0, -2, "ve"}, {0, 2, 0, "nana"}, {3, 2, 1, "ave"}, {3, 0, 100, ""},
	} {
		if c.rewind > 0 {
			s.Rewind(len(s.Prompt) + c.rewind - 1)
		}
		s.Accept(c.accept)
		n := host{s: s}.Text(c.from, unsafe.Pointer(&buffer[0]), int32(len(buffer)))
		if got := string(buffer[:n]); got != c.want {
			t.Errorf("of %v, from %d: %q, want %q", s.History, c.from, got, c.want)
		}
	}
}

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
