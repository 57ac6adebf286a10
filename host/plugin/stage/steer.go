// SPDX-License-Identifier: MIT

package stage

import (
	"encoding/binary"
	"math"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Prepare implements chain.Preparer. The mask that it returns lies in the guest's memory.
func (s *Stage) Prepare() (chain.Prepared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Prepare) {
		return chain.Prepared{}, nil
	}
	returned, err := s.instance.Call(guest.Prepare, 0, 0)
	if err != nil {
		return chain.Prepared{}, s.endOnFault(err)
	}
	p, v := s.readPrepared(returned)
	if v != nil {
		return chain.Prepared{}, s.endOnFault(s.instance.Fail(guest.Prepare, v))
	}
	return p, nil
}

// readPrepared checks and reads the buffers that prepare filled, as the bits of its answer say.
func (s *Stage) readPrepared(bits int32) (p chain.Prepared, _ *guest.Violation) {
	const known = abi.PrepareMask | abi.PrepareBias | abi.PrepareForce
	if bits&^int32(known) != 0 {
		return p, guest.Violationf(plugin.CauseAnswer, "%#x has bits that mean nothing", uint32(bits))
	}
	b := &s.instance.Buffers
	for _, part := range [...]struct{ bit, kind int32 }{
		{abi.PrepareMask, abi.BufferMask}, {abi.PrepareBias, abi.BufferBias}, {abi.PrepareForce, abi.BufferSplice},
	} {
		if bits&part.bit != 0 && !b.Bound(part.kind) {
			return p, guest.Violationf(plugin.CauseAnswer, "bit %d is set, but buffer %d is not bound", part.bit, part.kind)
		}
	}
	if bits&abi.PrepareMask != 0 {
		if p.Mask = b.Mask(s.vocabularySize()); !chain.AllowsAny(p.Mask) {
			return p, guest.Violationf(plugin.CauseAnswer, "the mask allows no token")
		}
	}
	var v *guest.Violation
	if bits&abi.PrepareBias != 0 {
		if p.Bias, v = s.readBiases(b.Bias()); v != nil {
			return p, v
		}
	}
	if bits&abi.PrepareForce != 0 {
		backtrack, tokens, v := s.readSplice()
		if v != nil {
			return p, v
		}
		if backtrack != 0 || len(tokens) == 0 {
			return p, guest.Violationf(plugin.CauseAnswer, "forced tokens need backtrack 0 and n 1 or more, not %d and %d", backtrack, len(tokens))
		}
		p.Forced = tokens
	}
	return p, nil
}

// readBiases reads a bias buffer: a number of entries, and each entry's token and value.
func (s *Stage) readBiases(from []byte) ([]chain.Bias, *guest.Violation) {
	n, room := binary.LittleEndian.Uint32(from), (len(from)-4)/8
	if uint64(n) > uint64(room) {
		return nil, guest.Violationf(plugin.CauseAnswer, "%d biases in a buffer for %d", n, room)
	}
	s.bias = s.bias[:0]
	for i := range int(n) {
		entry := from[4+8*i:]
		token := binary.LittleEndian.Uint32(entry)
		value := math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))
		if uint64(token) >= uint64(s.vocabularySize()) || !(value <= math.MaxFloat32) {
			return nil, guest.Violationf(plugin.CauseAnswer, "bias %d of %d: %v on token %d; it must be finite or −inf, on a token below %d", i, n, value, token, s.vocabularySize())
		}
		s.bias = append(s.bias, chain.Bias{Token: int32(token), Value: value})
	}
	return s.bias, nil
}

// Accept implements chain.Stage: it tells the plugin of the chosen token, and asks for a draft.
func (s *Stage) Accept(t scheduler.Token) (chain.Effect, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.History = append(s.session.History, t)
	s.session.Accepting()
	effect, err := s.callAccept(t)
	if err == nil && !effect.Stop && !effect.Splice {
		err = s.askDraft()
	}
	return effect, err
}

// callAccept tells the plugin of a token, and reads what the plugin wants: to go on, to stop the
// answer, or to splice.
func (s *Stage) callAccept(t scheduler.Token) (chain.Effect, error) {
	s.drafted = s.drafted[:0]
	if !s.canCall(guest.Accept) {
		return chain.Effect{}, nil
	}
	spliced := s.spliced > 0
	s.spliced = max(0, s.spliced-1)
	returned, err := s.instance.Call(guest.Accept, t, 0)
	if err != nil {
		return chain.Effect{}, s.endOnFault(err)
	}
	switch returned {
	case abi.AcceptContinue:
		return chain.Effect{}, nil
	case abi.AcceptStop:
		return chain.Effect{Stop: true}, nil
	case abi.AcceptSplice:
		if spliced {
			return s.failAccept(guest.Violationf(plugin.CauseAnswer, "a splice in answer to a token that was spliced itself"))
		}
		return s.readSpliceEffect()
	}
	return s.failAccept(guest.Violationf(plugin.CauseAnswer, "%d, it must be 0, 1 or 2", returned))
}

// failAccept makes a fault of a wrong answer of accept.
func (s *Stage) failAccept(v *guest.Violation) (chain.Effect, error) {
	return chain.Effect{}, s.endOnFault(s.instance.Fail(guest.Accept, v))
}

// readSpliceEffect reads the splice that accept wrote, and takes its tokens out of the history.
func (s *Stage) readSpliceEffect() (chain.Effect, error) {
	if !s.instance.Buffers.Bound(abi.BufferSplice) {
		return s.failAccept(guest.Violationf(plugin.CauseAnswer, "a splice, but no splice buffer is bound"))
	}
	backtrack, tokens, v := s.readSplice()
	if v != nil {
		return s.failAccept(v)
	}
	generated := len(s.session.History) - s.prompt
	if limit := min(s.instance.Hold(), generated); backtrack > uint32(limit) {
		return s.failAccept(guest.Violationf(plugin.CauseAnswer, "%d tokens are taken back; hold is %d and %d were generated",
			backtrack, s.instance.Hold(), generated))
	}
	s.session.History = s.session.History[:len(s.session.History)-int(backtrack)]
	s.spliced = len(tokens)
	return chain.Effect{Splice: true, Backtrack: int32(backtrack), Tokens: tokens}, nil
}

// readSplice reads the splice buffer: how many tokens to take back, how many new ones there are,
// and these.
func (s *Stage) readSplice() (backtrack uint32, tokens []scheduler.Token, _ *guest.Violation) {
	b := s.instance.Buffers.Splice()
	backtrack, n := b[0], b[1]
	if room := len(b) - 2; uint64(n) > uint64(room) {
		return 0, nil, guest.Violationf(plugin.CauseAnswer, "%d tokens in a splice buffer for %d", n, room)
	}
	s.tokens = s.tokens[:0]
	for _, t := range b[2 : 2+n] {
		if uint64(t) >= uint64(s.vocabularySize()) {
			return 0, nil, guest.Violationf(plugin.CauseAnswer, "token %d in the splice buffer; there are %d", t, s.vocabularySize())
		}
		s.tokens = append(s.tokens, int32(t))
	}
	return backtrack, s.tokens, nil
}

var _ chain.Foreseer = (*Stage)(nil)

// Foresee implements chain.Foreseer: it returns what the plugin drafted after the last token. The
// tick must not wait for a plugin, so Accept, on the background sampler, has asked for the draft.
func (s *Stage) Foresee(most int) []scheduler.Token {
	if !s.mu.TryLock() {
		return nil // the plugin is being called
	}
	defer s.mu.Unlock()
	return s.drafted[:min(len(s.drafted), most)]
}

// askDraft asks the plugin which tokens it expects next, and keeps them in s.drafted. Errors are
// those of endOnFault.
func (s *Stage) askDraft() error {
	s.drafted = s.drafted[:0]
	if !s.canCall(guest.Draft) {
		return nil
	}
	buffer := s.instance.Buffers.Bound(abi.BufferSplice)
	most := 0
	if buffer {
		most = min(abi.LimitDraft, len(s.instance.Buffers.Splice())-2)
	}
	returned, err := s.instance.Call(guest.Draft, int32(most), 0)
	if err != nil {
		return s.endOnFault(err)
	}
	if returned < 0 || int(returned) > most {
		return s.failDraft("%d tokens are guessed; from 0 to %d may be", returned, most)
	}
	if returned == 0 {
		return nil
	}
	for _, t := range s.instance.Buffers.Splice()[2 : 2+returned] {
		if uint64(t) >= uint64(s.vocabularySize()) {
			return s.failDraft("token %d is guessed; there are %d", t, s.vocabularySize())
		}
		s.drafted = append(s.drafted, int32(t))
	}
	return nil
}

// failDraft makes a fault of a wrong answer of draft.
func (s *Stage) failDraft(format string, args ...any) error {
	s.drafted = s.drafted[:0]
	return s.endOnFault(s.instance.Fail(guest.Draft, guest.Violationf(plugin.CauseAnswer, format, args...)))
}
