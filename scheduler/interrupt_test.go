// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// stubborn is a stage that begins only when it is interrupted.
type stubborn struct {
	guest
	interrupted, closed chan struct{}
}

func newStubborn() *stubborn {
	s := &stubborn{interrupted: make(chan struct{}), closed: make(chan struct{})}
	s.rewind = func([]scheduler.Token, int) error {
		<-s.interrupted
		return errors.New("interrupted")
	}
	return s
}

func (s *stubborn) Traits() chain.Traits {
	t := s.guest.Traits()
	t.Interrupt = func() { close(s.interrupted) }
	return t
}

func (s *stubborn) Close() error {
	close(s.closed)
	return nil
}

// A request that is over does not leave a stage at work behind: neither a cancelled one nor one
// whose time has passed.
func TestWorker_End_InterruptsItsStages(t *testing.T) {
	for name, end := range map[string]func(st *scheduler.Stream){
		"cancelled": func(st *scheduler.Stream) { st.Cancel() },
		"too late":  func(*scheduler.Stream) {},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{}) // on real time: no pass is run meanwhile
			if err != nil {
				t.Fatal(err)
			}
			stage := newStubborn()
			r := guided(5, stage)
			if name == "too late" {
				r.Deadline = time.Now().Add(5 * time.Millisecond)
			}
			st := submit(t, s, r)
			for !s.Tick() && (r.Deadline.IsZero() || time.Now().Before(r.Deadline)) { // on a busy machine it may be too late before it begins
			}
			end(st)
			if a := complete(s, st); a.end.Reason == answer.ReasonStop {
				t.Errorf("ended with %v", a.end.Reason)
			}
			<-stage.closed
		})
	}
}
