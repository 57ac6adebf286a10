// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// branches are what a guest that is a program drives.
type branches struct {
	run    *program.Run
	open   map[uint32]*program.Branch // by handle
	next   uint32                     // handle
	waits  int
	chains []*program.Chain // by handle; empty: not even the request's own was wanted
	reason string           // why the last call was refused

	handle        []uint32
	list, lacking []*program.Branch
}

// Most handles of one program, and most candidates that are found for one branch.
const (
	mostHandles    = 65_536
	mostCandidates = abi.LimitCandidates
)

// RunProgram calls penstock_run, whose branches are those of r. The rows that it can hold at a
// time, the model's of each branch with its hidden state and one that it has changed, count as
// memory of plugins. The error is a *plugin.Fault or a *plugin.Refusal.
func (i *Instance) RunProgram(r *program.Run) error {
	rows := uint64(r.Branches()) * 4 * uint64(2*i.module.Env.Vocabulary.Size()+r.HiddenState())
	if !i.module.Env.budget.Take(rows) {
		return i.Fail(Run, i.module.Env.budget.exceeded())
	}
	defer i.module.Env.budget.Give(rows)
	return i.runProgram(&branches{run: r, open: map[uint32]*program.Branch{}})
}

// ReplayProgram is RunProgram where a player answers: all that it does is answered.
func (i *Instance) ReplayProgram() error { return i.runProgram(&branches{}) }

func (i *Instance) runProgram(b *branches) error {
	i.branches = b
	defer func() { i.branches = nil }()
	answer, err := i.Call(Run, 0, 0)
	if err == nil && answer != 0 {
		return i.Refusal(Run)
	}
	return err
}

// branch is the branch of a handle.
func (i *Instance) branch(handle uint32) *program.Branch {
	b := i.branches.open[handle]
	if b == nil {
		panic(Violationf(plugin.CauseCall, "no branch has the handle %d, or it is closed", handle))
	}
	return b
}

// keep gives a branch a handle.
func (i *Instance) keep(b *program.Branch, err error) uint64 {
	if err != nil {
		return i.answerFor(err)
	}
	p := i.branches
	handle := p.next
	p.open[handle] = b
	p.next++
	return i32(int32(handle))
}

// mayOpen reports whether there are handles left.
func (p *branches) mayOpen() bool { return p.next < mostHandles }

// answerFor is what a guest learns about an error that a correct program may meet; any other ends
// the call.
func (i *Instance) answerFor(err error) uint64 {
	switch {
	case errors.Is(err, program.ErrNoBranch):
		return i32(abi.BranchNoneFree)
	case errors.Is(err, program.ErrContextFull):
		return i32(abi.BranchContextFull)
	case errors.Is(err, program.ErrBudget):
		return i32(abi.BranchBudget)
	case errors.Is(err, program.ErrNoToken):
		return i32(abi.BranchNoToken)
	case errors.Is(err, program.ErrRefused):
		return i.refuse(abi.BranchRefused, err)
	case errors.Is(err, program.ErrOver):
		panic(Violationf(plugin.CauseCancelled, "the request is over"))
	}
	panic(Violationf(plugin.CauseCall, "%v", err))
}

// do ends the call for any error.
func (i *Instance) do(err error) {
	if err != nil {
		i.answerFor(err)
		panic(Violationf(plugin.CauseCall, "%v", err))
	}
}

// wait waits for branches. Meanwhile the guest has no turn and its clock stands still. Each row
// that it gets is worth the fuel of a call. Errors: those of program.Run.Wait.
func (i *Instance) wait(k int, anyOf bool, list []*program.Branch) (ready []*program.Branch, err error) {
	p := i.branches
	p.lacking = p.lacking[:0]
	for _, b := range list {
		if b.State() != program.Ready && !slices.Contains(p.lacking, b) {
			p.lacking = append(p.lacking, b)
		}
	}
	i.giveSlice()
	began := time.Now()
	if ready, err = p.run.Wait(k, anyOf, list...); err != nil {
		return nil, err
	}
	p.waits++
	i.session.random.moveTo(1<<32 + p.waits)
	brought := 0
	for _, b := range p.lacking {
		if slices.Contains(ready, b) {
			brought++
		}
	}
	if brought > 0 {
		limits := &i.module.Env.Limits
		most := min(int64(1+p.run.Branches())*limits.HookFuel, limits.ProgramFuel-i.fuelLimit+i.meter.Left())
		i.fuelLimit += i.meter.Refuel(int64(brought)*limits.HookFuel, most)
		i.beginStretch()
	} else { // its fuel bounds how often it can do that
		i.hasWaited(time.Since(began))
		i.yieldedAt = time.Now()
	}
	return ready, nil
}

// beginStretch begins the time of what a program does until its next wait.
func (i *Instance) beginStretch() {
	i.started, i.waited = now(), 0
	i.yieldedAt, i.deadline = i.started, i.started.Add(i.module.Env.Limits.HookTime)
}
