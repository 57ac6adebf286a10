// SPDX-License-Identifier: MIT

package session

import (
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// ProgramRecorder is a program's stage that writes down what it does: a step for each wait, and
// the run when it is over.
type ProgramRecorder struct {
	stage.Program
	notes  notes
	opened bool
	begin  func(prompt []Token)
}

var _ chain.Stage = (*ProgramRecorder)(nil)

// RecordProgram is Record for a program. begin and take are called on the goroutines on which the
// program is opened and runs.
func RecordProgram(s stage.Program, begin func(prompt []Token), take func(Call) bool) *ProgramRecorder {
	p, q := s.Plugin()
	r := &ProgramRecorder{Program: s, begin: begin, notes: notes{view: p.Manifest.View, vocabulary: p.Module.Env.Vocabulary.Size(), take: take}}
	if q.Sampling != nil {
		r.notes.sampling = string(q.Sampling())
	}
	s.Watch(&r.notes)
	return r
}

// Reset implements chain.Stage.
func (r *ProgramRecorder) Reset(history []chain.Token, prompt int) error {
	if r.opened {
		return r.Program.Reset(history, prompt)
	}
	r.opened = true
	history = plugin.SeenTokens(history)
	r.begin(append([]Token(nil), history[:prompt]...))
	r.notes.begin(Call{Call: CallOpen, Tokens: append([]Token(nil), history[prompt:]...)})
	err := r.Program.Reset(history, prompt)
	if c := r.notes.call; c != nil {
		c.Declined = r.Declined()
	}
	r.end(err, true)
	return err
}

// Main is the program's.
func (r *ProgramRecorder) Main(run *program.Run) error {
	return r.run(func() error { return r.Program.Main(run) })
}

// Replay is the program's.
func (r *ProgramRecorder) Replay() error { return r.run(r.Program.Replay) }

func (r *ProgramRecorder) run(main func() error) error {
	r.notes.begin(Call{Call: CallStep})
	err := main()
	r.end(err, false)
	return err
}

// end ends a call.
func (r *ProgramRecorder) end(err error, always bool) {
	var refusal *plugin.Refusal
	if errors.As(err, &refusal) && r.notes.call != nil {
		r.notes.call.Refusal = &refusal.Message
	}
	r.notes.end(always)
}
