// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// branches are the branches and sampler chains that a program drives.
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

// RunProgram calls penstock_run with the branches of r. The rows that the program can hold at a
// time count as memory of plugins: for each branch the model's row with its hidden state, and one
// row that the program changed. The error is a *plugin.Fault or a *plugin.Refusal.
func (i *Instance) RunProgram(r *program.Run) error {
	rows := uint64(r.Branches()) * 4 * uint64(2*i.module.Env.Vocabulary.Size()+r.HiddenState())
	if !i.module.Env.budget.Take(rows) {
		return i.Fail(Run, i.module.Env.budget.exceeded())
	}
	defer i.module.Env.budget.Give(rows)
	return i.runProgram(&branches{run: r, open: map[uint32]*program.Branch{}})
}

// ReplayProgram is RunProgram for a player, which answers each call from a recording.
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

// branch returns the branch of a handle, or ends the call.
func (i *Instance) branch(handle uint32) *program.Branch {
	b := i.branches.open[handle]
	if b == nil {
		panic(Violationf(plugin.CauseCall, "no branch has the handle %d, or it is closed", handle))
	}
	return b
}

// giveHandle gives a branch a handle.
func (i *Instance) giveHandle(b *program.Branch, err error) uint64 {
	if err != nil {
		return i.answerError(err)
	}
	p := i.branches
	handle := p.next
	p.open[handle] = b
	p.next++
	return i32(int32(handle))
}

// hasFreeHandle reports whether there are handles left.
func (p *branches) hasFreeHandle() bool { return p.next < mostHandles }

// answerError returns the ABI's number of an error that a correct program may meet. Any other error
// ends the call.
func (i *Instance) answerError(err error) uint64 {
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

// must ends the call for any error.
func (i *Instance) must(err error) {
	if err != nil {
		i.answerError(err)
		panic(Violationf(plugin.CauseCall, "%v", err))
	}
}

// wait waits for branches. Meanwhile the guest has no time slice and its clock stands still. Each
// row that it gets brings the fuel of a call. Errors are those of program.Run.Wait.
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
		i.restartClock()
	} else { // the guest's fuel bounds how often it can wait for nothing
		i.hasWaited(time.Since(began))
		i.resume(time.Now())
	}
	return ready, nil
}

// restartClock starts the time limit of what a program does until its next wait.
func (i *Instance) restartClock() {
	i.started, i.waited = monotonicNow(), 0
	i.deadline = i.started.Add(i.module.Env.Limits.HookTime)
	i.resume(i.started)
}

// branchFunctions are the imports by which programs open branches, change their tokens, read what
// follows them and show tokens.
var branchFunctions = map[string]hostFunction{
	abi.ImportBranchOpen:        hostBranchOpen,
	abi.ImportBranchFork:        hostBranchFork,
	abi.ImportBranchClose:       hostBranchClose,
	abi.ImportBranchCut:         hostBranchCut,
	abi.ImportBranchAppend:      hostBranchAppend,
	abi.ImportBranchTokens:      hostBranchTokens,
	abi.ImportBranchesWait:      hostBranchesWait,
	abi.ImportBranchCandidates:  hostBranchCandidates,
	abi.ImportBranchLogits:      hostBranchLogits,
	abi.ImportBranchHiddenState: hostBranchHiddenState,
	abi.ImportBranchScores:      hostBranchScores,
	abi.ImportShow:              hostShow,
	abi.ImportAdopt:             hostAdopt,
}

func hostBranchOpen(i *Instance, c *call) uint64 {
	p := i.branches
	tokens := p.run.Prompt()
	if c.u32(1) > 0 {
		tokens = c.tokens(i, 0)
	}
	if !p.hasFreeHandle() {
		return i32(abi.BranchNoneFree)
	}
	return i.giveHandle(p.run.Open(tokens))
}

func hostBranchFork(i *Instance, c *call) uint64 {
	b := i.branch(c.u32(0))
	if !i.branches.hasFreeHandle() {
		return i32(abi.BranchNoneFree)
	}
	i.chargeBytes(4 * len(b.Tokens()))
	return i.giveHandle(b.Fork())
}

func hostBranchClose(i *Instance, c *call) uint64 {
	i.branch(c.u32(0)).Close()
	delete(i.branches.open, c.u32(0))
	return 0
}

func hostBranchCut(i *Instance, c *call) uint64 {
	i.must(i.branch(c.u32(0)).Cut(int(c.u32(1))))
	return 0
}

func hostBranchAppend(i *Instance, c *call) uint64 {
	b, tokens := i.branch(c.u32(0)), c.tokens(i, 0)
	if flags := c.u32(3); flags&^abi.AppendScored != 0 {
		panic(Violationf(plugin.CauseCall, "%s with the flags %#x", abi.ImportBranchAppend, flags))
	}
	if _, follows := b.Follows(); follows {
		i.charge(acceptFuel * uint64(len(tokens)))
	}
	if err := b.Append(tokens, c.u32(3)&abi.AppendScored != 0); err != nil {
		return i.answerError(err)
	}
	return i32(int32(len(b.Tokens())))
}

func hostBranchTokens(i *Instance, c *call) uint64 {
	b := i.branch(c.u32(0))
	if b.State() == program.Running {
		panic(Violationf(plugin.CauseCall, "the branch goes on by itself; wait for it"))
	}
	tokens := b.Tokens()
	return c.write(i, 4, bytesOf(plugin.SeenTokens(tokens[startIndex(c.i32(1), len(tokens)):])))
}

func hostBranchesWait(i *Instance, c *call) uint64 {
	p, n, k, flags := i.branches, c.u32(1), c.u32(2), c.u32(3)
	if n > uint32(p.run.Branches()) || k > mostCandidates || flags&^abi.WaitAny != 0 {
		panic(Violationf(plugin.CauseCall, "%s for %d branches, %d candidates and the flags %#x", abi.ImportBranchesWait, n, k, flags))
	}
	p.list, p.handle = p.list[:0], p.handle[:0]
	for j := range int(n) {
		handle := binary.LittleEndian.Uint32(c.in[0][4*j:])
		p.list, p.handle = append(p.list, i.branch(handle)), append(p.handle, handle)
	}
	k = min(k, uint32(i.module.Env.Vocabulary.Size()))
	i.chargeSummaries(int(k), p.list)
	ready, err := i.wait(int(k), flags&abi.WaitAny != 0, p.list)
	if err != nil {
		return i.answerError(err)
	}
	for _, b := range ready {
		if _, follows := b.Follows(); follows {
			i.charge(maskFuel * uint64(i.module.Env.Vocabulary.Size()))
		}
	}
	slices.SortStableFunc(p.handle, func(a, b uint32) int { return rank(ready, p.open[b]) - rank(ready, p.open[a]) })
	copy(c.in[0], bytesOf(p.handle))
	return i32(int32(len(ready)))
}

// chargeSummaries charges for finding k candidates in each ready row for which fewer were found so
// far.
func (i *Instance) chargeSummaries(k int, branches []*program.Branch) {
	for _, b := range branches {
		if b.Ready() && !b.Knows(k) {
			i.charge(uint64(i.module.Env.Vocabulary.Size()))
		}
	}
}

// rank is 1 for a branch that is ready, and 0 for another.
func rank(ready []*program.Branch, b *program.Branch) int {
	if slices.Contains(ready, b) {
		return 1
	}
	return 0
}

func hostBranchCandidates(i *Instance, c *call) uint64 {
	b, k := i.branch(c.u32(0)), c.u32(1)
	most := min(int(k), i.module.Env.Vocabulary.Size())
	i.chargeSummaries(most, []*program.Branch{b})
	said, err := b.Best(most)
	i.must(err)
	to := c.out
	put := func(at int, x float32) { binary.LittleEndian.PutUint32(to[at:], math.Float32bits(x)) }
	put(0, said.LogSum)
	put(4, said.Entropy)
	for j, id := range said.IDs {
		binary.LittleEndian.PutUint32(to[8+4*j:], uint32(id))
		put(8+4*int(k)+4*j, said.Logits[j])
	}
	return i32(int32(len(said.IDs)))
}

func hostBranchLogits(i *Instance, c *call) uint64 {
	row := make([]float32, i.module.Env.Vocabulary.Size())
	i.charge(uint64(len(row)) / 4)
	b := i.branch(c.u32(0))
	_, err := b.Logits(row)
	i.must(err)
	return c.write(i, 4, bytesOf(row))
}

func hostBranchHiddenState(i *Instance, c *call) uint64 {
	state, err := i.branch(c.u32(0)).HiddenState()
	i.must(err)
	return c.write(i, 4, bytesOf(state))
}

func hostBranchScores(i *Instance, c *call) uint64 {
	b := i.branch(c.u32(0))
	i.chargeBytes(4 * len(b.Tokens()))
	scores, err := b.Scores(int(c.u32(1)))
	i.must(err)
	return c.write(i, 4, bytesOf(scores))
}

func hostShow(i *Instance, c *call) uint64 {
	tokens, logs := c.tokens(i, 0), readNumbers(c.in[1])
	for k, l := range logs {
		if !(l <= 0) {
			panic(Violationf(plugin.CauseCall, "token %d is shown with the log-probability %v", tokens[k], l))
		}
	}
	ended, err := i.branches.run.Show(int(c.i32(0)), tokens, logs)
	i.must(err)
	if ended {
		return 1
	}
	return 0
}

func hostAdopt(i *Instance, c *call) uint64 {
	b := i.branch(c.u32(1))
	i.chargeBytes(4 * len(b.Tokens()))
	i.must(i.branches.run.Adopt(int(c.i32(0)), b, int(c.i32(2))))
	return 0
}
