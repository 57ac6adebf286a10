// SPDX-License-Identifier: MIT

package kvcache

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/piece"
)

// Errors of Export and Import; compare with errors.Is.
var (
	ErrNothingCached = errors.New("nothing of the conversation is cached any more")
	ErrNoStates      = errors.New("this model's conversations cannot be saved")
	ErrState         = errors.New("the state is none of this KV cache")
	errCopy          = errors.New("the copy of the conversation failed")
)

// Saved is a conversation outside the cache and its archive. Its holder closes it.
type Saved struct {
	Tokens      []Token        // whose cells the state holds; nobody changes them
	Pieces      []piece.Placed // what the tokens below 0 are, which another process has other numbers for
	Scope       Scope
	State       State
	Checkpoints []SavedCheckpoint // in order; none where the memory can be cut everywhere

	// What a cold store knows besides.
	Prompt    int           // how many of Tokens were the last request's prompt
	Continued bool          // that request had all of the prompt before it
	Cuttable  bool          // a part of the state can be restored alone
	Prefill   time.Duration // that computing the tokens takes; 0: not known
}

// SavedCheckpoint is what cuts a saved conversation back to its first N tokens: so an answer can be
// generated anew after it was restored.
type SavedCheckpoint struct {
	N     int
	State State
}

// Close frees the states.
func (s *Saved) Close() error {
	err := s.State.Close()
	for _, p := range s.Checkpoints {
		err = errors.Join(err, p.State.Close())
	}
	return err
}

// savedAs is a conversation with a state of its own.
func (c *conversation) savedAs(state State) *Saved {
	s := &Saved{Tokens: slices.Clone(c.tokens), Scope: c.scope, State: state, Prompt: c.prompt, Continued: c.continued}
	s.Pieces = c.pieces.Locate(s.Tokens)
	for _, p := range c.checkpoints {
		s.Checkpoints = append(s.Checkpoints, SavedCheckpoint{p.n, p.state.Keep()})
	}
	return s
}

// Export begins to copy a conversation, unless it has to wait for another copy. done is told the
// result when the copy is complete, at once if the archive has one.
func (c *Cache) Export(name uint64, salt string, done func(*Saved, error)) Wait {
	s, e := c.find(name, salt)
	switch {
	case c.states == nil:
		done(nil, ErrNoStates)
	case e != nil:
		done(e.savedAs(e.state.Keep()), nil)
	case s == nil || s.unsure:
		done(nil, ErrNothingCached)
	case c.copy.kind != savingAhead && !c.continueCopy():
		return c.tellToWait(WaitCopy)
	default:
		c.export(s, done)
	}
	return WaitNone
}

func (c *Cache) export(s *Sequence, done func(*Saved, error)) {
	c.cancelSaveAhead()
	if c.cutToBorder(s); len(s.tokens) == 0 {
		done(nil, ErrNothingCached)
		return
	}
	state, err := c.states.SaveState(s.id)
	if err != nil {
		done(nil, err)
		return
	}
	saved := s.savedAs(state)
	c.copy = copyInProgress{kind: exporting, sequence: s, exported: func(err error) {
		if err != nil {
			_ = saved.Close()
			done(nil, err)
			return
		}
		done(saved, nil)
	}}
	c.continueCopy()
}

// Import begins to restore a conversation into an idle sequence, unless it has to wait. The name
// finds the conversation; an error says that its state is none of this memory's. What was
// saved may be closed then.
func (c *Cache) Import(saved *Saved) (name uint64, w Wait, err error) {
	tokens, err := c.importTokens(saved)
	if err != nil {
		return 0, WaitNone, err
	}
	s, w, err := c.beginRestore(saved, tokens)
	if s == nil {
		return 0, w, err
	}
	s.prompt, s.continued, s.name = len(tokens), true, c.uses // somebody wants to go on with it
	return s.name, WaitNone, nil
}

// beginRestore begins to restore the first tokens of what was saved into an idle sequence; nil: it
// has to wait, or the state is none of this memory's.
func (c *Cache) beginRestore(saved *Saved, tokens []Token) (s *Sequence, w Wait, err error) {
	n := len(tokens)
	switch {
	case c.states == nil:
		return nil, WaitNone, ErrNoStates
	case c.copy.kind != savingAhead && !c.continueCopy():
		return nil, c.tellToWait(WaitCopy), nil
	}
	s = c.choose(0, func(*Sequence) bool { return true })
	switch {
	case s == nil || !c.HasRoom(n): // nothing is evicted in vain
		return nil, c.tellToWait(WaitRoom), nil
	case !c.evict(s) || !c.Reserve(n):
		return nil, c.tellToWait(WaitCopy), nil
	}
	c.cancelSaveAhead()
	if err := c.changeMemory(s, func() error { return c.states.RestoreState(s.id, saved.State, c.pieces.Positions(tokens)) }); err != nil {
		c.Repair(s)
		return nil, WaitNone, fmt.Errorf("%w: %w", ErrState, err)
	}
	c.Append(s, tokens)
	s.scope, s.prefill = saved.Scope, 0
	c.touch(s)
	s.name, s.dropped = 0, false
	c.adoptCheckpoints(s, saved.Checkpoints)
	c.copy = copyInProgress{kind: restoring, sequence: s}
	c.saveAheadDue = true
	return s, WaitNone, nil
}

// importTokens gives the tokens of a conversation that was saved, those of its pieces as this
// process has them.
func (c *Cache) importTokens(saved *Saved) ([]Token, error) {
	if len(saved.Pieces) == 0 {
		return saved.Tokens, nil
	}
	if c.pieces == nil {
		return nil, fmt.Errorf("%w: it has pictures or sounds", ErrState)
	}
	tokens := slices.Clone(saved.Tokens)
	if err := c.pieces.Put(tokens, saved.Pieces); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return tokens, nil
}

// Erase drops a conversation from cache and archive and returns how many tokens it had, unless it
// has to wait for a copy, which may be of it.
func (c *Cache) Erase(name uint64, salt string) (n int, w Wait) {
	if c.copy.kind != savingAhead && !c.continueCopy() {
		return 0, c.tellToWait(WaitCopy)
	}
	s, e := c.find(name, salt) // now, since the copy may have brought it into the archive
	if s != nil && s == c.copy.sequence {
		c.cancelSaveAhead()
	}
	if e != nil {
		n = len(e.tokens)
		c.eraseCold(&e.conversation)
		c.archive.drop(e)
	}
	if s != nil {
		n = len(s.tokens)
		c.eraseCold(&s.conversation)
		c.Truncate(s, 0)
	}
	return n, WaitNone
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
