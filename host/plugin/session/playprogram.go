// SPDX-License-Identifier: MIT

package session

import (
	"fmt"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/stage"
)

// prompter plays a program: it answers what that does as was recorded, and compares it.
type prompter struct {
	player *Player
	steps  []Call // of the session, after it was opened
	step   int
	deeds  []Deed // of the step: what only programs do
	deed   int
	parted *Difference // what the program has done differently; nil: nothing
	each   func(i int, d *Difference, got *Call) bool
	over   bool // no more is wanted
}

// taken takes what came of a call: that of open, or a step of what is played.
func (r *run) taken(c Call) bool {
	if r.prompter != nil {
		return r.prompter.taken(&c)
	}
	if r.made != nil && r.made.Call == CallRun { // the step of a program that runs on a model
		c.Outputs = append(r.made.Outputs, c.Outputs...)
		c.Call, c.Deeds = CallRun, nil
	}
	r.made = &c
	return true
}

// play plays a program from call from of the session on.
func (r *run) playProgram(from int, each func(i int, d *Difference, got *Call) bool) {
	q := &prompter{player: r.player, steps: r.session.Calls[from:], each: func(i int, d *Difference, got *Call) bool {
		if d != nil {
			d.Call, d.Name, d.Position = from+i+1, r.session.Calls[from+i].Call, r.prompt
			for k := range i {
				d.Answered += len(r.session.Calls[from+k].Shows(r.session.Choice))
			}
			d.Position += d.Answered
		}
		return each(from+i, d, got)
	}}
	r.prompter = q
	q.begin()
	_ = r.stage.run(stage.Program{Stage: r.stage.Stage}.Replay) // what it ends with is written down
	if q.parted != nil && !q.over {
		q.each(q.step, q.parted, nil)
	}
}

// begin has the answers of a step ready.
func (q *prompter) begin() {
	want := &q.steps[q.step]
	q.player.answers.expect(want)
	q.player.answers.program = q
	q.deed, q.deeds = 0, nil
	for i := range want.Deeds {
		if d := want.Deeds[i]; d.ofProgram() {
			q.deeds = append(q.deeds, d)
		}
	}
}

// answer answers what only programs do.
func (q *prompter) answer(g *plugin.Deed) error {
	if q.step == len(q.steps) {
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	}
	want, came := &q.steps[q.step], deedOf(g, len(q.player.file.Vocabulary.Pieces))
	switch {
	case q.deed < len(q.deeds):
	case want.Fault != nil && machines[want.Fault.Kind]: // what the machine did
		return guest.Violationf(plugin.CauseCancelled, "the session ends here")
	default:
		q.parted = &Difference{Field: fmt.Sprintf("deed %d", q.deed+1), Recorded: "none", Came: q.player.show(&came)}
		return guest.Violationf(plugin.CauseCancelled, "it goes on otherwise")
	}
	d := &q.deeds[q.deed]
	if recorded, came := q.player.differs(d, &came); recorded != "" {
		q.parted = &Difference{Field: fmt.Sprintf("deed %d", q.deed+1), Recorded: recorded, Came: came}
		return guest.Violationf(plugin.CauseCancelled, "it goes on otherwise")
	}
	q.deed++
	if d.Failed {
		return failed(want)
	}
	d.answer(g, len(q.player.file.Vocabulary.Pieces))
	return nil
}

// failed ends a call as it was recorded.
func failed(c *Call) error {
	kind := "cancelled"
	if c.Fault != nil {
		kind = c.Fault.Kind
	}
	return guest.Violationf(plugin.CauseOf(kind), "as it was recorded")
}

// taken compares a step that is over; false: no more is wanted.
func (q *prompter) taken(got *Call) bool {
	if q.over || q.parted != nil || q.step == len(q.steps) {
		return false
	}
	want := &q.steps[q.step]
	d := q.player.compare(want, got)
	switch {
	case d != nil:
	case want.Call != got.Call:
		d = &Difference{Field: "call", Recorded: want.Call, Came: got.Call}
	case q.deed < len(q.deeds):
		d = &Difference{Field: fmt.Sprintf("deed %d", q.deed+1), Recorded: q.player.show(&q.deeds[q.deed]), Came: "none"}
	}
	if !q.each(q.step, d, got) || got.over() {
		q.over = true
		return false
	}
	if q.step++; q.step < len(q.steps) {
		q.begin()
	}
	return true
}
