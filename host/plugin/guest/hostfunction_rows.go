// SPDX-License-Identifier: MIT

package guest

import (
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

// This file has the host functions by which programs change rows, draw from them and let branches
// go on. See docs/abi/v1.md.

// What they cost besides bytes.
const (
	chainFuel    = 20_000
	messagesFuel = 100_000
	textFuel     = 16 // a byte of parameters or messages
)

// runsAt is the position of random numbers that the seeds of branches are drawn at, before their
// chain and handle are added.
const runsAt = 1 << 33

// refuse answers a call that what the guest has handed over does not allow. It may ask why.
func (i *Instance) refuse(answer int32, why error) uint64 {
	i.branches.reason = why.Error()
	return i32(answer)
}

func hostBranchReason(i *Instance, s []uint64) {
	i.write(s, s[0], s[1], 1, []byte(i.program().reason))
}

func hostBranchMask(i *Instance, s []uint64) {
	b, n := i.branch(s[0]), uint64(uint32(s[2]))
	i.charge(branchFuel + uint64(i.module.Env.Vocabulary.Size()))
	bytes := i.bytesAt(uint64(uint32(s[1])), 4*n)
	words := make([]uint32, n)
	for k := range words {
		words[k] = binary.LittleEndian.Uint32(bytes[4*k:])
	}
	i.do(b.Mask(words))
	s[0] = 0
}

func hostBranchMix(i *Instance, s []uint64) {
	b, n := i.branch(s[0]), uint64(uint32(s[2]))
	if n < 1 || n > abi.LimitBranches {
		panic(Violationf(plugin.CauseCall, "a sum of %d rows; from 1 to %d may be", n, abi.LimitBranches))
	}
	i.charge(branchFuel + n*uint64(i.module.Env.Vocabulary.Size()))
	bytes := i.bytesAt(uint64(uint32(s[1])), 8*n)
	rows := make([]program.Weighted, n)
	for k := range rows {
		rows[k].Branch = i.branch(uint64(binary.LittleEndian.Uint32(bytes[8*k:])))
		rows[k].Weight = math.Float32frombits(binary.LittleEndian.Uint32(bytes[8*k+4:]))
	}
	i.do(b.Mix(rows))
	s[0] = 0
}

func hostChainOpen(i *Instance, s []uint64) {
	p, n := i.program(), uint64(uint32(s[1]))
	i.chain(0)
	i.pauseBefore()
	i.charge(chainFuel + textFuel*n)
	text := i.bytesAt(uint64(uint32(s[0])), n)
	switch {
	case n > abi.LimitChainBytes:
		s[0] = i.refuse(abi.BranchRefused, fmt.Errorf("the parameters of a chain have %d bytes, at most %d are taken", n, abi.LimitChainBytes))
	case len(p.chains) > abi.LimitChains:
		s[0] = i.refuse(abi.BranchRefused, fmt.Errorf("a program has %d chains at most", abi.LimitChains))
	default:
		c, err := i.newChain(text)
		if err != nil {
			s[0] = i.refuse(abi.BranchRefused, err)
			return
		}
		p.chains = append(p.chains, c)
		s[0] = i32(int32(len(p.chains) - 1))
	}
}

var errNoChains = errors.New("this host has no sampler chains")

// newChain makes a chain, the next of the program.
func (i *Instance) newChain(parameters []byte) (*program.Chain, error) {
	r := i.session.request
	if r.Chain == nil {
		return nil, errNoChains
	}
	stages, err := r.Chain(parameters)
	if err != nil {
		return nil, err
	}
	at := runsAt + uint64(len(i.branches.chains))<<16
	return program.NewChain(func(branch uint64, before int) ([]chain.Stage, error) {
		return stages(uint32(abi.Draw(r.Seed, uint64(r.Index), at+branch, uint64(before))))
	}), nil
}

// chain is the chain of a handle.
func (i *Instance) chain(handle uint64) *program.Chain {
	p := i.program()
	if len(p.chains) == 0 { // the request's own is made when it is wanted
		c, err := i.newChain(nil)
		if err != nil {
			panic(Violationf(plugin.CauseCall, "the request's chain: %v", err))
		}
		p.chains = append(p.chains, c)
	}
	if int64(uint32(handle)) >= int64(len(p.chains)) {
		panic(Violationf(plugin.CauseCall, "no chain has the handle %d", uint32(handle)))
	}
	return p.chains[uint32(handle)]
}

func hostBranchSample(i *Instance, s []uint64) {
	b, c := i.branch(s[0]), i.chain(s[1])
	i.pauseBefore()
	i.charge(branchFuel + uint64(i.module.Env.Vocabulary.Size()))
	t, err := b.Sample(c)
	if err != nil {
		s[0] = i.answerFor(err)
		return
	}
	s[0] = i32(t)
}

func hostBranchRun(i *Instance, s []uint64) {
	b, c, n, flags := i.branch(s[0]), i.chain(s[1]), int32(uint32(s[2])), uint32(s[3])
	if flags&^abi.AppendScored != 0 {
		panic(Violationf(plugin.CauseCall, "%s with the flags %#x", abi.ImportBranchRun, flags))
	}
	i.pauseBefore()
	i.charge(branchFuel)
	if b.Ready() {
		i.charge(uint64(i.module.Env.Vocabulary.Size()))
	}
	if err := b.Run(c, int(n), flags != 0); err != nil {
		s[0] = i.answerFor(err)
		return
	}
	s[0] = 0
}

// states are the ABI's numbers of the states of branches.
var states = map[program.State]int32{
	program.Pending: abi.StatePending, program.Ready: abi.StateReady, program.Running: abi.StateRunning,
	program.Ran: abi.StateRan, program.Ended: abi.StateEnded, program.Stuck: abi.StateStuck,
}

func hostBranchState(i *Instance, s []uint64) { s[0] = i32(states[i.branch(s[0]).State()]) }

func hostBranchOpenMessages(i *Instance, s []uint64) {
	p, n := i.program(), uint64(uint32(s[1]))
	i.charge(messagesFuel + textFuel*n)
	text := i.bytesAt(uint64(uint32(s[0])), n)
	switch {
	case i.session.request.Prompt == nil:
		s[0] = i.refuse(abi.BranchCannot, errors.New("this host has no template for messages"))
	case n > abi.LimitBranchMessagesBytes:
		s[0] = i.refuse(abi.BranchRefused, fmt.Errorf("the messages have %d bytes, at most %d are taken", n, abi.LimitBranchMessagesBytes))
	case !p.mayOpen() || p.run.Free() == 0:
		s[0] = i32(abi.BranchNoneFree)
	default:
		tokens, err := i.prompt(append([]byte(nil), text...))
		switch {
		case err != nil:
			s[0] = i.refuse(abi.BranchRefused, err)
		case len(tokens) == 0:
			s[0] = i.refuse(abi.BranchRefused, errors.New("the template makes an empty prompt of the messages"))
		default:
			s[0] = i.keep(p.run.Open(tokens))
		}
	}
}

// prompt makes the prompt of messages.
func (i *Instance) prompt(messages []byte) (tokens []int32, err error) {
	i.aside(func(ctx context.Context) { tokens, err = i.session.request.Prompt(ctx, messages) })
	return tokens, err
}

// aside has the host do work for the guest that may take long, and stop when the request is over.
// Meanwhile the guest has no turn, and its clock stands still.
func (i *Instance) aside(work func(context.Context)) {
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
	i.deadline = i.deadline.Add(time.Since(began))
}

func hostBranchGrammar(i *Instance, s []uint64) {
	b := i.branch(s[0])
	i.charge(acceptFuel + maskFuel*uint64(i.module.Env.Vocabulary.Size()))
	if int32(uint32(s[1])) == -1 {
		i.do(b.Follow(nil))
		s[0] = 0
		return
	}
	g := i.grammar(s[1])
	if g == nil {
		panic(Violationf(plugin.CauseCall, "no grammar has the handle %d", uint32(s[1])))
	}
	begins := g.Beginning()
	if begins == nil {
		s[0] = i.refuse(abi.BranchCannot, errors.New("branches cannot follow grammars here"))
		return
	}
	i.do(b.Follow(begins))
	s[0] = 0
}
