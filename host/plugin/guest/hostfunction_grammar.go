// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// This file has the host functions about grammars. See docs/abi/v1.md.

// What grammar calls cost: opening one and each byte of its text, at least; trying one token of the
// vocabulary, the same and what may follow it, accepting one, and what completes the text.
const (
	openFuel    = 100_000
	grammarFuel = 256
	maskFuel    = 16
	withinFuel  = 32
	acceptFuel  = 2_000
	restFuel    = 10_000
)

func hostGrammarOpen(i *Instance, s []uint64) {
	i.pauseBefore()
	text := i.bytesAt(uint64(uint32(s[1])), uint64(uint32(s[2])))
	if !i.meter.Charge(openFuel + grammarFuel*uint64(len(text))) {
		panic(Violationf(plugin.CauseFuel, "in grammar_open, of %d bytes", len(text)))
	}
	i.grammarReason = ""
	refuse := func(reason string) {
		i.grammarReason = reason
		i.session.log.add(abi.LogError, []byte("grammar_open: "+reason))
		s[0] = i32(-1)
	}
	limits := &i.module.Env.Limits
	switch kind := uint32(s[0]); {
	case i.module.Env.Grammars == nil:
		refuse("this host has no grammar engine")
	case kind != abi.GrammarGBNF && kind != abi.GrammarJSONSchema:
		refuse("the kind is neither 0 (GBNF) nor 1 (JSON schema)")
	case len(i.grammars) >= limits.Grammars:
		refuse("an instance may have no more grammars")
	case len(text) > limits.Grammar:
		refuse(fmt.Sprintf("the grammar has %d bytes, at most %d are taken", len(text), limits.Grammar))
	default:
		clean := cleanText(text)
		g, work, err := i.openGrammar(int32(kind), clean)
		if paid := openFuel + grammarFuel*uint64(len(text)); work > paid && !i.meter.Charge(work-paid) {
			panic(Violationf(plugin.CauseFuel, "in grammar_open, whose text took much to read"))
		}
		i.asked(Question{Import: abi.ImportGrammarOpen, Kind: int32(kind), Text: clean, Err: err})
		if err != nil {
			refuse(err.Error())
			return
		}
		i.grammars = append(i.grammars, g)
		s[0] = uint64(len(i.grammars) - 1)
	}
}

// openGrammar has the host read a grammar, which may take long.
func (i *Instance) openGrammar(kind int32, text string) (g plugin.Grammar, work uint64, err error) {
	client := ""
	if r := i.session.request; r != nil {
		client = r.Client
	}
	i.aside(func(ctx context.Context) { g, work, err = i.module.Env.Grammars.Open(ctx, client, kind, text) })
	return g, work, err
}

func hostGrammarMask(i *Instance, s []uint64) {
	i.fillMask(s, abi.ImportGrammarMask, maskFuel, func(g plugin.Grammar, mask []uint32, q *Question) (int32, error) {
		return 0, g.Mask(mask)
	})
}

func hostGrammarMaskWithin(i *Instance, s []uint64) {
	tokens := int32(uint32(s[1]))
	i.fillMask(s, abi.ImportGrammarMaskWithin, withinFuel, func(g plugin.Grammar, mask []uint32, q *Question) (int32, error) {
		q.Count = tokens
		fits, err := g.MaskWithin(int(tokens), mask)
		if q.OK = fits; !fits {
			clear(mask)
			return abi.WithinTooFew, err
		}
		return abi.WithinFilled, err
	})
}

// fillMask has a grammar fill the bound mask, and answers as it says, or -1.
func (i *Instance) fillMask(s []uint64, name string, fuel uint64, fill func(plugin.Grammar, []uint32, *Question) (int32, error)) {
	if i.running != Prepare {
		panic(Violationf(plugin.CauseCall, "%s belongs to %s", name, abi.ExportPrepare))
	}
	i.pauseBefore()
	n := i.module.Env.Vocabulary.Size()
	if !i.meter.Charge(fuel * uint64(n)) {
		panic(Violationf(plugin.CauseFuel, "in %s", name))
	}
	handle := s[0]
	g := i.grammar(handle)
	if g == nil || !i.Buffers.Bound(abi.BufferMask) {
		s[0] = i32(-1)
		return
	}
	q := Question{Import: name, Handle: uint32(handle), Mask: i.Buffers.Mask(n)}
	answer, err := fill(g, q.Mask, &q)
	q.Err = err
	i.asked(q)
	if err != nil {
		i.session.log.add(abi.LogError, []byte(name+": "+err.Error()))
		answer = -1
	}
	s[0] = i32(answer)
}

func hostGrammarRest(i *Instance, s []uint64) {
	i.pauseBefore()
	if !i.meter.Charge(restFuel) {
		panic(Violationf(plugin.CauseFuel, "in grammar_rest"))
	}
	handle := s[0]
	g := i.grammar(handle)
	if s[0] = i32(abi.RestUnknown); g == nil {
		return
	}
	tokens, ended, err := g.Rest()
	tokens = min(tokens, math.MaxInt32)
	i.asked(Question{Import: abi.ImportGrammarRest, Handle: uint32(handle), Count: int32(tokens), OK: ended, Err: err})
	switch {
	case err != nil:
		i.session.log.add(abi.LogError, []byte("grammar_rest: "+err.Error()))
	case ended:
		s[0] = i32(abi.RestEnded)
	default:
		s[0] = i32(int32(tokens))
	}
}

func hostGrammarReason(i *Instance, s []uint64) { i.write(s, s[0], s[1], 1, []byte(i.grammarReason)) }

func hostGrammarAccept(i *Instance, s []uint64) {
	i.pauseBefore()
	if !i.meter.Charge(acceptFuel) {
		panic(Violationf(plugin.CauseFuel, "in grammar_accept"))
	}
	handle := s[0]
	g := i.grammar(handle)
	s[0] = i32(-1)
	if g == nil || !i.known(s[1]) {
		return
	}
	token := int32(uint32(s[1]))
	ok := g.Accept(token)
	i.asked(Question{Import: abi.ImportGrammarAccept, Handle: uint32(handle), Token: token, OK: ok})
	if ok {
		s[0] = 0
	}
}

// grammar finds what a handle stands for; nil if there is nothing.
func (i *Instance) grammar(handle uint64) plugin.Grammar {
	if h := uint32(handle); int64(h) < int64(len(i.grammars)) {
		return i.grammars[h]
	}
	return nil
}
