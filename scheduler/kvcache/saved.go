// SPDX-License-Identifier: MIT

package kvcache

import (
	"errors"
	"fmt"
)

// Errors of Export and Import; compare with errors.Is.
var (
	ErrNothingCached = errors.New("nothing of the conversation is cached any more")
	ErrNoStates      = errors.New("this model's conversations cannot be saved")
	ErrState         = errors.New("the state is none of this KV cache")
	errCopy          = errors.New("the copy of the conversation failed")
)

// Saved is a conversation outside the cache and its archive. Who has it closes its State.
type Saved struct {
	Tokens []Token // whose cells the state holds; nobody changes them
	Scope  Scope
	State  State
}

// Conversation names what the sequence of a request that has ended holds, until another request has the sequence.
func (s *Sequence) Conversation() uint64 { return s.name }

// Export begins to copy a conversation and reports whether it has: not while another copy is in progress.
// done is told the result when the copy is complete, at once if the archive has one.
func (c *Cache) Export(name uint64, salt string, done func(*Saved, error)) (begun bool) {
	s, e := c.find(name, salt)
	switch {
	case c.states == nil:
		done(nil, ErrNoStates)
	case e != nil:
		done(&Saved{Tokens: e.tokens, Scope: e.scope, State: e.state.Keep()}, nil)
	case s == nil || s.unsure:
		done(nil, ErrNothingCached)
	case c.copy.kind != savingAhead && !c.continueCopy():
		return false
	default:
		c.export(s, done)
	}
	return true
}

func (c *Cache) export(s *Sequence, done func(*Saved, error)) {
	c.cancelSaveAhead()
	state, err := c.states.SaveState(s.id)
	if err != nil {
		done(nil, err)
		return
	}
	saved := &Saved{Tokens: append([]Token(nil), s.tokens...), Scope: s.scope, State: state}
	c.copy = copyInProgress{kind: exporting, sequence: s, exported: func(err error) {
		if err != nil {
			_ = state.Close()
			done(nil, err)
			return
		}
		done(saved, nil)
	}}
	c.continueCopy()
}

// Import begins to restore a conversation into an idle sequence, and reports whether it has, or never can: not while it has to wait for a
// sequence, for cells or for a copy. The name is that of the conversation; an error says that its state is none of this memory's. The
// state may be closed then.
func (c *Cache) Import(saved *Saved) (name uint64, begun bool, err error) {
	n := len(saved.Tokens)
	switch {
	case c.states == nil:
		return 0, true, ErrNoStates
	case c.copy.kind != savingAhead && !c.continueCopy():
		return 0, false, nil
	}
	s := c.choose(0, func(*Sequence) bool { return true })
	if s == nil || !c.HasRoom(n) || !c.evict(s) || !c.Reserve(n) { // nothing is evicted in vain
		return 0, false, nil
	}
	c.cancelSaveAhead()
	if err := c.change(s, func() error { return c.states.RestoreState(s.id, saved.State, n) }); err != nil {
		c.Repair(s)
		return 0, true, fmt.Errorf("%w: %w", ErrState, err)
	}
	c.Append(s, saved.Tokens)
	s.scope, s.prefill, s.prompt, s.continued = saved.Scope, 0, n, true // somebody wants to go on with it
	c.touch(s)
	s.name = c.uses
	c.copy = copyInProgress{kind: restoring, sequence: s}
	c.saveAheadDue = true
	return s.name, true, nil
}

// Erase drops a conversation from cache and archive and returns how many tokens it had. done is false while it is being copied.
func (c *Cache) Erase(name uint64, salt string) (n int, done bool) {
	if c.copy.kind != savingAhead && !c.continueCopy() {
		return 0, false
	}
	s, e := c.find(name, salt) // now, since the copy may have brought it into the archive
	if s != nil && s == c.copy.sequence {
		c.cancelSaveAhead()
	}
	if e != nil {
		n = len(e.tokens)
		c.archive.drop(e)
	}
	if s != nil {
		n = len(s.tokens)
		c.Truncate(s, 0)
	}
	return n, true
}

// find finds a conversation that has this salt in an idle sequence and in the archive.
func (c *Cache) find(name uint64, salt string) (found *Sequence, archived *entry) {
	if name == 0 {
		return nil, nil
	}
	for _, s := range c.sequences {
		if s.name == name && s.scope.Salt == salt && len(s.tokens) > 0 {
			found = s
		}
	}
	for _, e := range c.archive.entries {
		if e.name == name && e.scope.Salt == salt {
			archived = e
		}
	}
	return found, archived
}
