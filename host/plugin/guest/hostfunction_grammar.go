// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// grammarFunctions are the imports about grammars.
var grammarFunctions = map[string]hostFunction{
	abi.ImportGrammarOpen:       hostGrammarOpen,
	abi.ImportGrammarMask:       hostGrammarMask,
	abi.ImportGrammarMaskWithin: hostGrammarMaskWithin,
	abi.ImportGrammarRest:       hostGrammarRest,
	abi.ImportGrammarAccept:     hostGrammarAccept,
	abi.ImportGrammarReason:     func(i *Instance, c *call) uint64 { return c.text(i, i.grammarReason) },
}

// What grammars cost that branches follow.
const (
	maskFuel   = 16
	acceptFuel = 2_000
)

func hostGrammarOpen(i *Instance, c *call) uint64 {
	g, err := i.openGrammar(c.u32(0), c.in[0])
	i.grammarReason = ""
	if c.err = err; err != nil {
		i.grammarReason = err.Error()
		i.session.log.add(abi.LogError, []byte("grammar_open: "+err.Error()))
		return i32(-1)
	}
	i.grammars = append(i.grammars, g)
	return uint64(len(i.grammars) - 1)
}

// openGrammar has the host read a grammar, which may take long. If the call ends meanwhile or has
// too little fuel, the grammar is closed here, since the instance has no handle to close it by.
func (i *Instance) openGrammar(kind uint32, text []byte) (g plugin.Grammar, err error) {
	limits := &i.module.Env.Limits
	switch {
	case i.module.Env.Grammars == nil:
		return nil, errors.New("this host has no grammar engine")
	case kind != abi.GrammarGBNF && kind != abi.GrammarJSONSchema:
		return nil, errors.New("the kind is neither 0 (GBNF) nor 1 (JSON schema)")
	case len(i.grammars) >= limits.Grammars:
		return nil, errors.New("an instance may have no more grammars")
	case len(text) > limits.Grammar:
		return nil, fmt.Errorf("the grammar has %d bytes, at most %d are taken", len(text), limits.Grammar)
	}
	client, clean := i.session.client(), cleanText(text)
	var opened plugin.Grammar
	defer func() {
		if g == nil && opened != nil {
			_ = opened.Close()
		}
	}()
	var work uint64
	i.runAside(func(ctx context.Context) {
		opened, work, err = i.module.Env.Grammars.Open(ctx, client, int32(kind), clean)
	})
	cost := &abi.Import(abi.ImportGrammarOpen).Cost
	if paid := cost.Fixed + cost.Byte*uint64(len(text)); work > paid && !i.meter.Charge(work-paid) {
		panic(Violationf(plugin.CauseFuel, "in grammar_open, whose text took much to read"))
	}
	return opened, err
}

func hostGrammarMask(i *Instance, c *call) uint64 {
	return i.fillMask(c, abi.ImportGrammarMask, func(g plugin.Grammar, mask []uint32) (int32, error) {
		return 0, g.Mask(mask)
	})
}

func hostGrammarMaskWithin(i *Instance, c *call) uint64 {
	return i.fillMask(c, abi.ImportGrammarMaskWithin, func(g plugin.Grammar, mask []uint32) (int32, error) {
		fits, err := g.MaskWithin(int(c.i32(1)), mask)
		if !fits {
			clear(mask)
			return abi.WithinTooFew, err
		}
		return abi.WithinFilled, err
	})
}

// fillMask has a grammar fill the bound mask, and returns fill's answer, or -1.
func (i *Instance) fillMask(c *call, name string, fill func(plugin.Grammar, []uint32) (int32, error)) uint64 {
	g := i.grammar(c.u32(0))
	if g == nil || !i.Buffers.Bound(abi.BufferMask) {
		return i32(-1)
	}
	answer, err := fill(g, i.Buffers.Mask(i.module.Env.Vocabulary.Size()))
	if c.err = err; err != nil {
		i.session.log.add(abi.LogError, []byte(name+": "+err.Error()))
		return i32(-1)
	}
	return i32(answer)
}

func hostGrammarRest(i *Instance, c *call) uint64 {
	g := i.grammar(c.u32(0))
	if g == nil {
		return i32(abi.RestUnknown)
	}
	tokens, ended, err := g.Rest()
	switch c.err = err; {
	case err != nil:
		i.session.log.add(abi.LogError, []byte("grammar_rest: "+err.Error()))
		return i32(abi.RestUnknown)
	case ended:
		return i32(abi.RestEnded)
	}
	return i32(int32(min(tokens, math.MaxInt32)))
}

func hostGrammarAccept(i *Instance, c *call) uint64 {
	g := i.grammar(c.u32(0))
	if g == nil || !i.isToken(c.i32(1)) || !g.Accept(c.i32(1)) {
		return i32(-1)
	}
	return 0
}

// grammar returns the grammar of a handle; nil: there is none.
func (i *Instance) grammar(handle uint32) plugin.Grammar {
	if int64(handle) < int64(len(i.grammars)) {
		return i.grammars[handle]
	}
	return nil
}
