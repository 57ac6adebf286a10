// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// Two goroutines come for the row at the same moment: neither may go on before it is copied.
func TestRow_Copy_WhoComesSecondFindsItWhole(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for round := range 200 {
		logits := make([]float32, 128<<10)
		logits[len(logits)-1] = float32(round)
		r.Lend([][]float32{logits}, &loans)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if row := r.Copy(); len(row) != len(logits) || row[len(row)-1] != float32(round) {
					t.Errorf("round %d: %d of %d logits were there", round, len(row), len(logits))
				}
			})
		}
		both.Wait()
		loans.Wait()
	}
}

// A row that the backend does not have is lent as well: its loan ends, and no row before it is
// taken for it.
func TestRow_Missing(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for name, end := range map[string]func(){"copied": func() { r.Copy() }, "returned": r.Return} {
		r.Lend([][]float32{{1, 2}}, &loans)
		r.Copy()
		r.Lend([][]float32{nil}, &loans)
		if !r.missing() {
			t.Errorf("%s: it is there before", name)
		}
		end()
		loans.Wait()
	}
	r.Lend([][]float32{nil}, &loans)
	if copied := r.Copy(); len(copied) != 0 || !r.missing() {
		t.Errorf("its copy is %v", copied)
	}
}

// Rows that follow one another are on loan together, until the last is copied, or they are
// returned or recalled.
func TestRow_Skip_LaterRowsStayOnLoan(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	onLoan := func() bool { return r.onLoan }
	r.Lend([][]float32{{1}, {2}, {3}, {4}}, &loans)
	if r.Copy()[0] != 1 || !onLoan() {
		t.Error("the loan has ended with the first row")
	}
	if !r.Skip(2) || r.logits()[0] != 3 {
		t.Errorf("the second after the first is %v", r.logits())
	}
	if r.Skip(2) {
		t.Error("there is a fifth row")
	}
	if !r.Skip(1) || r.Copy()[0] != 4 || onLoan() {
		t.Errorf("the last is %v, still on loan: %v", r.logits(), onLoan())
	}
	loans.Wait()
	r.Lend([][]float32{{5}, {6}}, &loans)
	r.Recall()
	loans.Wait()
	if r.logits()[0] != 5 || r.Skip(1) {
		t.Errorf("after a recall there is %v", r.logits())
	}
	r.Lend([][]float32{{7}, {8}}, &loans)
	r.Return()
	loans.Wait()
	if r.Skip(1) {
		t.Error("a row follows one that was returned")
	}
}

// taker is a stage that notes the row it takes, and what rows its Apply finds.
type taker struct {
	prepared Prepared
	ignores  bool
	given    bool // it is no RowTaker
	untaken  bool // it is one that is not to be asked
	refuses  bool // to take them
	apply    func(*View) error

	taken [][]float32
	found [][]float32
}

func (s *taker) Traits() Traits {
	return Traits{Prepares: true, TakesRow: !s.given, IgnoresRow: s.ignores, Refuse: s.refuse}
}

func (s *taker) Native() bool                 { return false }
func (s *taker) Prepare() (Prepared, error)   { return s.prepared, nil }
func (s *taker) Accept(Token) (Effect, error) { return Effect{}, nil }
func (s *taker) Reset([]Token, int) error     { return nil }
func (s *taker) Close() error                 { return nil }

func (s *taker) refuse(Act, error) error {
	s.prepared = Prepared{}
	return nil
}

func (s *taker) Apply(v *View) error {
	s.found = append(s.found, slices.Clone(v.Row))
	if s.apply == nil {
		return nil
	}
	return s.apply(v)
}

// TakeRow takes it in both ways.
func (s *taker) TakeRow(w WholeRow) bool {
	if s.given || s.untaken {
		panic("it is given rows as others are")
	}
	written := make([]float32, len(w.Logits()))
	w.WriteTo(written)
	if !slices.Equal(written, w.Logits()) {
		panic("the row that is written is another than the one to be read")
	}
	if !s.refuses {
		s.taken = append(s.taken, written)
	}
	return !s.refuses
}

func choose(t Token) func(*View) error {
	return func(v *View) error {
		v.Chosen = t
		return nil
	}
}

func narrow(v *View) error {
	v.ID, v.Logit, v.N = []Token{2, 1}, []float32{2, 1}, 2
	return nil
}

// drawFrom prepares, and draws from the logits 0, 1, 2 and 3.
func drawFrom(t *testing.T, trace int, stages ...Stage) *Row {
	t.Helper()
	c := New(stages, 4, trace)
	must.Do(t, c.Prepare())
	var row Row
	var loans sync.WaitGroup
	row.Lend([][]float32{{0, 1, 2, 3}}, &loans)
	if token, _, err := c.Draw(&row); err != nil || token != 2 {
		t.Fatalf("token %d, %v", token, err)
	}
	row.Return()
	loans.Wait()
	return &row
}

var without3 = []float32{0, 1, 2, float32(math.Inf(-1))}

func TestChain_Draw_TakersFindTheRowWhereItLies(t *testing.T) {
	first, last := &taker{apply: narrow}, &taker{ignores: true, apply: choose(2)}
	row := drawFrom(t, 0, first, last)
	if !slices.EqualFunc(first.taken, [][]float32{{0, 1, 2, 3}}, slices.Equal) || first.found[0] != nil {
		t.Errorf("it took %v and found %v", first.taken, first.found)
	}
	if len(last.taken) > 0 || last.found[0] != nil {
		t.Errorf("the last was given %v and found %v", last.taken, last.found)
	}
	if row.copied != nil {
		t.Error("the row was copied")
	}
}

func TestChain_Draw_TakersSeeMasksAndBiases(t *testing.T) {
	first := &taker{prepared: Prepared{Mask: []uint32{0b0111}, Bias: []Bias{{Token: 1, Value: 0.5}}}}
	last := &taker{apply: choose(2)}
	drawFrom(t, 0, first, last)
	want := slices.Clone(without3)
	want[1] = 1.5
	for i, s := range []*taker{first, last} { // the first left the row as it is
		if !slices.EqualFunc(s.taken, [][]float32{want}, slices.Equal) {
			t.Errorf("stage %d took %v", i, s.taken)
		}
	}
}

// Who takes no rows gets it from the chain, whatever became of it before.
func TestChain_Draw_OthersAreGivenTheRow(t *testing.T) {
	for name, first := range map[string]func(*View) error{"whole": nil, "with candidates": narrow} {
		last := &taker{given: true, apply: choose(2)}
		drawFrom(t, 0, &taker{apply: first}, last)
		refuses := &taker{refuses: true, apply: choose(2)}
		drawFrom(t, 0, &taker{apply: first}, refuses)
		last.found = append(last.found, refuses.found...)
		if !slices.EqualFunc(last.found, [][]float32{{0, 1, 2, 3}, {0, 1, 2, 3}}, slices.Equal) {
			t.Errorf("%s: it found %v", name, last.found)
		}
	}
}

func TestChain_Draw_TracedTakersFindTheRowInTheView(t *testing.T) {
	first := &taker{untaken: true, apply: choose(2), prepared: Prepared{Mask: []uint32{0b0111}}}
	drawFrom(t, 3, first)
	if !slices.EqualFunc(first.found, [][]float32{without3}, slices.Equal) {
		t.Errorf("it found %v", first.found)
	}
}

// The mask is given up, and the row is taken once more without it.
func TestChain_Draw_TakersTakeAgain(t *testing.T) {
	first := &taker{prepared: Prepared{Mask: []uint32{0b0111}}}
	last := &taker{}
	last.apply = func(v *View) error {
		if len(last.taken) == 1 {
			return ErrNoToken
		}
		v.Chosen = 2
		return nil
	}
	drawFrom(t, 0, first, last)
	if !slices.EqualFunc(last.taken, [][]float32{without3, {0, 1, 2, 3}}, slices.Equal) {
		t.Errorf("it took %v", last.taken)
	}
}

// The tick copies the row of a late background sampler, whose stage may just be taking it, and then
// overwrites it.
func TestRow_LendTo_WhileItIsCopied(t *testing.T) {
	var loans sync.WaitGroup
	var r Row
	for range 200 {
		logits := []float32{0, 1, 2, 3}
		r.Lend([][]float32{logits}, &loans)
		s := &taker{}
		var both sync.WaitGroup
		both.Go(func() { r.lendTo(s, &restriction{}) })
		both.Go(func() {
			r.Copy()
			loans.Wait()
			clear(logits)
		})
		both.Wait()
		if !slices.Equal(s.taken[0], []float32{0, 1, 2, 3}) {
			t.Fatal(errors.New("it took what the next pass wrote"), s.taken)
		}
	}
}

// With all tokens there is a row, by their numbers, and no list.
func TestNewLogprobs_AllTokens(t *testing.T) {
	row := []float32{1, 3, float32(math.Inf(-1)), 2}
	l := NewLogprobs(row, 3, AllTokens)
	if len(l.Top) > 0 || len(l.Row) != len(row) || l.Row[3] != l.Token {
		t.Fatalf("%+v", l)
	}
	sum := 0.0
	for _, p := range l.Row {
		sum += math.Exp(float64(p))
	}
	top := NewLogprobs(row, 3, 2).Top
	if math.Abs(sum-1) > 1e-6 || top[0] != (Candidate{1, l.Row[1]}) || top[1] != (Candidate{3, l.Row[3]}) {
		t.Errorf("the probabilities of %v add up to %v; the likeliest are %v", l.Row, sum, top)
	}
}
