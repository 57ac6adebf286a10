// SPDX-License-Identifier: MIT

package background_test

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plugin is a stage that allows all but token 0, waits for its gate and chooses the best token.
type plugin struct {
	gate   chan struct{} // nil: it does not wait
	panics bool
	closed bool
}

func (p *plugin) Traits() chain.Traits                     { return chain.Traits{Prepares: true} }
func (p *plugin) Native() bool                             { return false }
func (p *plugin) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }
func (p *plugin) Reset([]chain.Token, int) error           { return nil }

func (p *plugin) Prepare() (chain.Prepared, error) {
	return chain.Prepared{Mask: []uint32{^uint32(1)}}, nil
}

func (p *plugin) Apply(v *chain.View) error {
	if p.panics {
		panic("boom")
	}
	if p.gate != nil {
		<-p.gate
	}
	v.Chosen = 0
	for t, logit := range v.Row {
		if logit > v.Row[v.Chosen] {
			v.Chosen = chain.Token(t)
		}
	}
	return nil
}

func (p *plugin) Close() error {
	p.closed = true
	return nil
}

type numbers struct{}

func (numbers) Piece(t chain.Token) string       { return strconv.Itoa(int(t)) }
func (numbers) ControlText(t chain.Token) string { return strconv.Itoa(int(t)) }
func (numbers) EndOfGeneration(chain.Token) bool { return false }

// one is a single row.
func one(row []float32) background.Rows { return background.Rows{Logits: [][]float32{row}} }

// run starts the background sampler of an answer with one plugin. It ends with the test.
func run(t *testing.T, p *plugin) (*background.Sampler, *answer.Answer, *sync.WaitGroup) {
	c := chain.New([]chain.Stage{p}, 4, 0)
	a := answer.New(c, []chain.Token{1}, answer.Settings{Longest: 100, VocabularySize: 4, Vocabulary: numbers{}})
	loans, running := new(sync.WaitGroup), new(sync.WaitGroup)
	w := background.New(c, a, background.Options{Logprobs: 1, Wake: func() {}, Close: a.Close, Loans: loans})
	running.Go(w.Run)
	t.Cleanup(func() {
		w.Close()
		if running.Wait(); !p.closed {
			t.Error("the stage was not closed")
		}
	})
	return w, a, loans
}

func TestWorker_Draw_FromRowToText(t *testing.T) {
	w, a, loans := run(t, new(plugin))
	row := []float32{9, 1, 3, 2}
	w.Prepare()
	w.Draw(one(row))
	if !w.Busy() {
		t.Error("it is not busy")
	}
	loans.Wait()
	<-w.Done()
	if err := w.Collect(); err != nil || w.Busy() {
		t.Errorf("%v, busy: %v", err, w.Busy())
	}
	out := a.Output()
	if len(out.Shown) != 1 || out.Shown[0].Text != "2" || out.Shown[0].More.Logprobs.Top[0].Token != 0 || row[0] != 9 {
		t.Errorf("%+v, the row %v", out, row)
	}
}

// The tick goes on without a late background sampler: the row may be overwritten when it is kept.
func TestWorker_RecallRows_LetsTheNextPassOverwriteIt(t *testing.T) {
	p := &plugin{gate: make(chan struct{})}
	w, a, loans := run(t, p)
	row := []float32{9, 1, 3, 2}
	w.Draw(one(row))
	w.RecallRows()
	loans.Wait()
	for i := range row {
		row[i] = float32(math.NaN())
	}
	close(p.gate)
	<-w.Done()
	_ = w.Collect()
	if out := a.Output(); len(out.Shown) != 1 || out.Shown[0].Token != 0 {
		t.Errorf("%+v", out)
	}
}

func TestWorker_Do_ReturnsTheTasksError(t *testing.T) {
	w, a, _ := run(t, new(plugin))
	for _, c := range []struct {
		task  func() error
		fails bool
	}{{func() error { return a.Inject([]chain.Token{3}) }, false}, {func() error { panic("boom") }, true}} {
		w.Do(c.task, nil)
		<-w.Done()
		var p *panics.Error
		if err := w.Collect(); errors.As(err, &p) != c.fails || (a.Output().Reason == answer.ReasonError) != c.fails {
			t.Errorf("%v, %+v", err, a.Output())
		}
	}
}

func TestWorker_Draw_APanicEndsTheAnswerAndReturnsTheRow(t *testing.T) {
	w, a, loans := run(t, &plugin{panics: true})
	w.Prepare()
	w.Draw(one([]float32{9, 1, 3, 2}))
	loans.Wait()
	<-w.Done()
	_ = w.Collect()
	if p := (*panics.Error)(nil); !errors.As(a.Output().Err, &p) || p.Stack == nil {
		t.Errorf("%+v", a.Output())
	}
}

func TestWorker_Nil_IsFree(t *testing.T) {
	var w *background.Sampler
	if w.Interrupt(); w.Busy() || w.Rest() > 0 {
		t.Error("it is busy or rests")
	}
}
