// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// rowFunctions are the imports by which programs change rows. By drawFunctions they draw tokens
// from rows and let branches go on.
var (
	rowFunctions = map[string]hostFunction{
		abi.ImportBranchOpenMessages: hostBranchOpenMessages,
		abi.ImportBranchMask:         hostBranchMask,
		abi.ImportBranchMix:          hostBranchMix,
		abi.ImportBranchGrammar:      hostBranchGrammar,
	}
	drawFunctions = map[string]hostFunction{
		abi.ImportChainOpen:    hostChainOpen,
		abi.ImportBranchSample: hostBranchSample,
		abi.ImportBranchRun:    hostBranchRun,
		abi.ImportBranchState:  func(i *Instance, c *call) uint64 { return i32(states[i.branch(c.u32(0)).State()]) },
		abi.ImportBranchReason: func(i *Instance, c *call) uint64 { return c.text(i, i.branches.reason) },
	}
)

// textFuel is what a byte of the session's messages costs.
const textFuel = 16

// runsAt is the position of random numbers at which the seeds of branches are drawn. Chain and
// handle are added to it.
const runsAt = 1 << 33

// refuse answers a call whose arguments cannot be used. The guest may ask for the reason.
func (i *Instance) refuse(answer int32, why error) uint64 {
	i.branches.reason = why.Error()
	return i32(answer)
}

func hostBranchMask(i *Instance, c *call) uint64 {
	words := make([]uint32, len(c.in[0])/4)
	copy(bytesOf(words), c.in[0])
	i.must(i.branch(c.u32(0)).Mask(words))
	return 0
}

func hostBranchMix(i *Instance, c *call) uint64 {
	b, n := i.branch(c.u32(0)), c.u32(2)
	if n < 1 {
		panic(Violationf(plugin.CauseCall, "a sum of %d rows; from 1 to %d may be", n, abi.LimitBranches))
	}
	rows := make([]program.Weighted, n)
	for k := range rows {
		entry := c.in[0][8*k:]
		rows[k].Branch = i.branch(binary.LittleEndian.Uint32(entry))
		rows[k].Weight = math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))
	}
	i.must(b.Mix(rows))
	return 0
}

func hostChainOpen(i *Instance, c *call) uint64 {
	p, text := i.branches, c.in[0]
	i.chain(0)
	switch {
	case len(text) > abi.LimitChainBytes:
		return i.refuse(abi.BranchRefused, fmt.Errorf("the parameters of a chain have %d bytes, at most %d are taken", len(text), abi.LimitChainBytes))
	case len(p.chains) > abi.LimitChains:
		return i.refuse(abi.BranchRefused, fmt.Errorf("a program has %d chains at most", abi.LimitChains))
	}
	opened, err := i.newChain(text)
	if err != nil {
		return i.refuse(abi.BranchRefused, err)
	}
	p.chains = append(p.chains, opened)
	return i32(int32(len(p.chains) - 1))
}

var errNoChains = errors.New("this host has no sampler chains")

// newChain makes the program's next chain.
func (i *Instance) newChain(parameters []byte) (*program.Chain, error) {
	r := i.session.request
	if r.Chain == nil {
		return nil, errNoChains
	}
	var stages func(seed uint32) ([]chain.Stage, error)
	var err error
	i.runAside(func(ctx context.Context) { stages, err = r.Chain(ctx, parameters) })
	if err != nil {
		return nil, err
	}
	at := runsAt + uint64(len(i.branches.chains))<<16
	return program.NewChain(func(branch uint64, before int) ([]chain.Stage, error) {
		return stages(uint32(abi.Draw(r.Seed, uint64(r.Index), at+branch, uint64(before))))
	}), nil
}

// chain returns the chain of a handle, or ends the call.
func (i *Instance) chain(handle uint32) *program.Chain {
	p := i.branches
	if len(p.chains) == 0 { // the request's own chain is made when it is first needed
		c, err := i.newChain(nil)
		if err != nil {
			panic(Violationf(plugin.CauseCall, "the request's chain: %v", err))
		}
		p.chains = append(p.chains, c)
	}
	if int64(handle) >= int64(len(p.chains)) {
		panic(Violationf(plugin.CauseCall, "no chain has the handle %d", handle))
	}
	return p.chains[handle]
}

func hostBranchSample(i *Instance, c *call) uint64 {
	t, err := i.branch(c.u32(0)).Sample(i.chain(c.u32(1)))
	if err != nil {
		return i.answerError(err)
	}
	return i32(t)
}

func hostBranchRun(i *Instance, c *call) uint64 {
	b, with, flags := i.branch(c.u32(0)), i.chain(c.u32(1)), c.u32(3)
	if flags&^abi.AppendScored != 0 {
		panic(Violationf(plugin.CauseCall, "%s with the flags %#x", abi.ImportBranchRun, flags))
	}
	if b.Ready() {
		i.charge(uint64(i.module.Env.Vocabulary.Size()))
	}
	if err := b.Run(with, int(c.i32(2)), flags != 0); err != nil {
		return i.answerError(err)
	}
	return 0
}

// states maps the states of branches to the ABI's numbers.
var states = map[program.State]int32{
	program.Pending: abi.StatePending, program.Ready: abi.StateReady, program.Running: abi.StateRunning,
	program.Ran: abi.StateRan, program.Ended: abi.StateEnded, program.Stuck: abi.StateStuck,
}

func hostBranchOpenMessages(i *Instance, c *call) uint64 {
	p, text := i.branches, c.in[0]
	switch {
	case i.session.request.Prompt == nil:
		return i.refuse(abi.BranchCannot, errors.New("this host has no template for messages"))
	case len(text) > abi.LimitBranchMessagesBytes:
		return i.refuse(abi.BranchRefused, fmt.Errorf("the messages have %d bytes, at most %d are taken", len(text), abi.LimitBranchMessagesBytes))
	case !p.hasFreeHandle() || p.run.Free() == 0:
		return i32(abi.BranchNoneFree)
	}
	var tokens []int32
	var err error
	messages := bytes.Clone(text)
	i.runAside(func(ctx context.Context) { tokens, err = i.session.request.Prompt(ctx, messages) })
	switch {
	case err != nil:
		return i.refuse(abi.BranchRefused, err)
	case len(tokens) == 0:
		return i.refuse(abi.BranchRefused, errors.New("the template makes an empty prompt of the messages"))
	}
	return i.giveHandle(p.run.Open(tokens))
}

// runAside has the host work for the guest, which may take long, until the request is over.
// Meanwhile the guest has no time slice, and its clock stands still.
func (i *Instance) runAside(work func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-i.session.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	i.giveSlice()
	began := time.Now()
	work(ctx)
	if ctx.Err() != nil {
		panic(Violationf(plugin.CauseCancelled, "the request is over"))
	}
	i.resume(time.Now())
	i.deadline = i.deadline.Add(i.yieldedAt.Sub(began))
}

func hostBranchGrammar(i *Instance, c *call) uint64 {
	b := i.branch(c.u32(0))
	if c.i32(1) == -1 {
		i.must(b.Follow(nil))
		return 0
	}
	g := i.grammar(c.u32(1))
	if g == nil {
		panic(Violationf(plugin.CauseCall, "no grammar has the handle %d", c.u32(1)))
	}
	begins := g.Beginning()
	if begins == nil {
		return i.refuse(abi.BranchCannot, errors.New("branches cannot follow grammars here"))
	}
	i.must(b.Follow(begins))
	return 0
}
