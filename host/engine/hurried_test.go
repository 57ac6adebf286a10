// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// largeSchema has 200 properties, among them deep ones and enums.
func largeSchema() json.RawMessage {
	var values []string
	for i := range 40 {
		values = append(values, fmt.Sprintf(`"value %d"`, i))
	}
	kinds := []string{`{"type":"string"}`, `{"enum":[` + strings.Join(values, ",") + `]}`, `{"type":"integer","minimum":-5,"maximum":1200}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"},"c":{"enum":["x","y"]}}}}}}`}
	var properties []string
	for i := range 200 {
		properties = append(properties, fmt.Sprintf(`"property %d":%s`, i, kinds[i%len(kinds)]))
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}}`)
}

// lengthy are constraints whose first masks take long, or those of some later tokens.
func lengthy() map[string]sampling.Constraint {
	var starts []string
	var rules strings.Builder
	for i := range 2000 {
		starts = append(starts, fmt.Sprintf(`"a" r%d`, i))
		fmt.Fprintf(&rules, "r%d ::= [a-z]* \"%d\"\n", i, i)
	}
	choice := strings.Join(starts, " | ")
	return map[string]sampling.Constraint{
		"many rules":   {Grammar: "root ::= " + choice + "\n" + rules.String()},
		"large schema": {JSONSchema: largeSchema()},
		"ambiguous":    {Grammar: `root ::= "a" root | "a" root "b" | "a" root "c" | "a"`},
		"many states":  {Regex: `[a-z]*[a-m][a-z]{300}`},
		"lazy": {Grammar: `root ::= "ab" (` + choice + ")\n" + rules.String(), GrammarLazy: true,
			GrammarTriggers: []sampling.Trigger{{Kind: sampling.TriggerWord, Value: "aba"}}},
	}
}

// On the tick an answer whose tokens take long is left to a background sampler, which draws what
// would have been drawn without hurry.
func TestStage_SampleSoon_SameTokens(t *testing.T) {
	e := opened(t, Options{})
	slow := map[string]int{}
	for name, constraint := range lengthy() {
		for seed := range uint64(steadytest.InLongTest(6, 2)) {
			p := sampling.Default()
			p.Seed, p.Constraint = uint32(seed), constraint
			e.grammars.forget() // each begins with nothing known
			soon := wholeChain(t, e, p)
			e.grammars.forget()
			patient := wholeChain(t, e, p)
			history := []scheduler.Token{1}
			for _, s := range []*Stage{soon, patient} {
				must.Do(t, s.Reset(history, 1))
			}
			r := rand.New(rand.NewPCG(seed, 4))
			for i := range 25 {
				row := randomRow(r, e.info.Vocabulary)
				if wakes := tokens(t, e, "aba"); constraint.GrammarLazy && i < len(wakes) {
					row[wakes[i]] = 1000
				}
				want, wantErr := patient.sample(row)
				got, err := scheduler.Token(-1), chain.ErrSlow
				if soon.Native() {
					got, err = soon.sampleSoon(row)
				}
				if errors.Is(err, chain.ErrSlow) {
					if slow[name]++; soon.Native() {
						t.Fatalf("%s: a stage that was slow is native", name)
					}
					v := chain.View{Row: slices.Clone(row), N: -1, Chosen: -1}
					err = soon.Apply(&v)
					got = v.Chosen
				}
				if (err == nil) != (wantErr == nil) || err == nil && got != want {
					t.Fatalf("%s, seed %d, after %v: %d, %v; without hurry %d, %v", name, seed, history, got, err, want, wantErr)
				}
				if err != nil || e.model.EndOfGeneration(got) {
					break
				}
				history = append(history, got)
				_, err = soon.Accept(got)
				_, wantErr = patient.Accept(got)
				if err != nil || wantErr != nil {
					t.Fatalf("%s, seed %d, after %v: %v; without hurry %v", name, seed, history, err, wantErr)
				}
			}
		}
	}
	if len(slow) < len(lengthy()) {
		t.Errorf("draws that took long: %v", slow)
	}
}

// begunWith is a stage at the beginning of an answer.
func begunWith(t *testing.T, e *Engine, c sampling.Constraint) *Stage {
	t.Helper()
	p := greedily()
	p.Constraint = c
	s := wholeChain(t, e, p)
	must.Do(t, s.Reset([]scheduler.Token{1}, 1))
	return s
}

// What takes long after a token that wakes a grammar does not hold up the tick, which tells the
// stage of the token: the next draw does it.
func TestStage_Accept_LeavesWhatTakesLong(t *testing.T) {
	e := opened(t, Options{})
	s := begunWith(t, e, lengthy()["lazy"])
	for _, token := range tokens(t, e, "aba") {
		must.Get(s.Accept(token))(t)
	}
	if len(s.rules.behind) == 0 || s.Native() {
		t.Fatal("the tick has followed what takes long")
	}
	all := tokens(t, e, "abcd")
	if n, err := s.Fits(all[len(all)-1:]); n != 1 || err != nil {
		t.Errorf("a letter: %d, %v", n, err)
	}
	if len(s.rules.behind) > 0 {
		t.Error("it is behind still")
	}
}

// A stage whose masks take long makes them beside the pass: the draw then finds them.
func TestStage_Prepare_MakesTheMask(t *testing.T) {
	e := opened(t, Options{})
	s := begunWith(t, e, lengthy()["large schema"])
	if _, err := s.sampleSoon(make([]float32, e.info.Vocabulary)); !errors.Is(err, chain.ErrSlow) {
		t.Fatalf("the first draw: %v", err)
	}
	must.Get(s.Prepare())(t)
	if err := s.rules.grammar.MaskWithin(s.rules.here, e.tokens(), make([]uint32, e.tokens().Words()), 1); err != nil {
		t.Errorf("the mask is not made: %v", err)
	}
}

// An answer is the tick's again after its first slow token, and when it is slow again and again,
// after more and more quick ones.
func TestFollowing_Drawn_BackToTheTick(t *testing.T) {
	f := new(following)
	for _, want := range []int{0, 1, 3, 7, 15, 31, 63, 63} {
		f.turnSlow()
		f.turnSlow() // another question for the same token
		f.drawn()
		for n := range want {
			if !f.isSlow() {
				t.Fatalf("the tick draws after %d quick tokens, not %d", n, want)
			}
			f.drawn()
		}
		if f.isSlow() {
			t.Fatalf("a background sampler still draws after %d quick tokens", want)
		}
		f.drawn() // by a background sampler that the answer has for another reason
	}
}

// A slow token among the quick ones that are to be seen begins the count again.
func TestFollowing_Drawn_SlowAmongQuick(t *testing.T) {
	f := &following{}
	f.trial.next = 3
	f.turnSlow()
	f.drawn()
	f.drawn()
	f.turnSlow()
	for n := range 4 {
		if f.drawn(); f.isSlow() != (n < 3) {
			t.Errorf("slow after %d quick tokens: %t", n, f.isSlow())
		}
	}
}

// One slow token of an answer under a schema that nobody knows yet leaves the others to the tick.
func TestStage_Native_AfterASlowToken(t *testing.T) {
	e := opened(t, Options{})
	s := begunWith(t, e, lengthy()["large schema"])
	row := make([]float32, e.info.Vocabulary)
	if _, err := s.sampleSoon(row); !errors.Is(err, chain.ErrSlow) || s.Native() {
		t.Fatalf("the first draw: %v, native %t", err, s.Native())
	}
	v := chain.View{Row: row, N: -1, Chosen: -1}
	if err := s.Apply(&v); err != nil || !s.Native() {
		t.Errorf("after the background sampler's draw: %v, native %t", err, s.Native())
	}
}
