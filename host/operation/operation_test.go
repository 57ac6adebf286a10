// SPDX-License-Identifier: MIT

package operation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ended(prompt, generated int) scheduler.RequestRecord {
	return scheduler.RequestRecord{Usage: scheduler.Usage{Prompt: prompt, Cached: 1, Generated: generated}}
}

// The record is there once: when the handler has returned and all answers have ended, whatever is
// later.
func TestOperation_EndsWithTheLast(t *testing.T) {
	for name, events := range map[string][]string{
		"handler last":        {"submit", "end", "end", "done"},
		"answers last":        {"submit", "done", "end", "end"},
		"one of each":         {"submit", "end", "done", "end"},
		"ended at submission": {"end", "submit", "end", "done"},
		"nothing submitted":   {"done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []Record
				charged := 0
				o := Begin(Record{ID: "a"}, func(r Record) { got = append(got, r) })
				o.SetClient("alice", charging{charged: &charged})
				for i, event := range events {
					synctest.Wait()
					if len(got) != 0 {
						t.Errorf("it ended before event %d", i)
					}
					time.Sleep(time.Second)
					switch event {
					case "submit":
						o.Submitted("tiny", 2)
					case "end":
						o.Ended(ended(10, 5))
					case "done":
						o.Done(200, 7, nil)
					}
				}
				synctest.Wait()
				if len(got) != 1 {
					t.Fatalf("%d records", len(got))
				}
				r := got[0]
				prompt, cached, generated := r.Tokens()
				if n := len(r.Answers); r.Key != "alice" || r.Status != 200 || prompt != 10*n || cached != n || generated != 5*n || charged != 15*n ||
					(n > 0) != (r.Model == "tiny") || !r.End.After(r.Begin) {
					t.Errorf("%+v, charged %d", r, charged)
				}
			})
		})
	}
}

// charging adds up what is charged.
type charging struct {
	Unlimited
	charged *int
}

func (c charging) Charge(n int) { *c.charged += n }

// few admits so many requests.
type few struct {
	Unlimited
	left    int
	refused error
}

func (f *few) Admit() error {
	if f.left--; f.left < 0 {
		return f.refused
	}
	return nil
}

func TestOperation_Part_CountsForTheSameClient(t *testing.T) {
	refused := errors.New("enough")
	quota, ends := &few{left: 2, refused: refused}, 0
	o := Begin(Record{ID: "a", Route: "/v1/ws"}, func(r Record) {
		if ends++; r.Key != "alice" || r.ID != "a" || r.Route != "/v1/ws generate" {
			t.Errorf("%+v", r)
		}
	})
	o.SetClient("alice", quota)
	for _, want := range []error{nil, nil, refused} {
		ctx, part := From(o.With(t.Context())).Part(t.Context(), "generate")
		if err := part.Admit(); !errors.Is(err, want) || From(ctx) != part {
			t.Errorf("got %v, want %v", err, want)
		}
		part.Done(200, 0, nil)
	}
	if ends != 3 {
		t.Errorf("%d ended", ends)
	}
}

func TestOperation_Nil_DoesNothing(t *testing.T) {
	o := From(context.Background())
	o.Submitted("tiny", 1)
	o.Ended(ended(1, 1))
	o.Done(200, 0, nil)
	o.SetClient("", Unlimited{})
	if _, part := o.Part(t.Context(), "generate"); part != nil || o.Admit() != nil {
		t.Errorf("%v", part)
	}
}

// What a program has computed besides its answer is charged, too.
func TestOperation_Ended_ChargesWhatProgramsCompute(t *testing.T) {
	for name, c := range map[string]struct {
		usage            scheduler.Usage
		charged, besides int
	}{
		"no program":                      {scheduler.Usage{Prompt: 10, Generated: 5}, 15, 0},
		"four branches":                   {scheduler.Usage{Prompt: 10, Generated: 5, Branches: 40}, 40, 25},
		"tokens that it has not computed": {scheduler.Usage{Prompt: 10, Generated: 50, Branches: 40}, 60, 0},
	} {
		charged := 0
		o := Begin(Record{}, func(r Record) {
			if n := r.Beside(); n != c.besides {
				t.Errorf("%s: %d tokens besides", name, n)
			}
		})
		o.SetClient("", charging{charged: &charged})
		o.Submitted("tiny", 1)
		o.Ended(scheduler.RequestRecord{Usage: c.usage})
		o.Done(200, 0, nil)
		if charged != c.charged {
			t.Errorf("%s: %d are charged, want %d", name, charged, c.charged)
		}
	}
}
