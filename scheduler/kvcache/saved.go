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
	Computing time.Duration // that computing the tokens takes; 0: not known
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

// archive holds the states of evicted conversations in RAM: when one of them goes on, only its new
// turn is computed. Its bytes are bounded, as the process has them.
//
// It is a segmented LRU (Karedla, Love and Wherry, 1994): what was never continued is dropped
// first, then the least recently used. So prompts that are sent once push out each other, however
// many they are, and no conversation.
type archive struct {
	states      StateMemory // nil: there is no archive
	checkpoints *checkpoints
	budget      int64        // bytes
	bytes       int64        // that entries take, and the one that is being saved
	entries     []*entry     // least recently used first
	retire      func(*entry) // is told of an entry that others push out
	wanted      *entry       // that a request comes back for: what makes room for it must not push it out; nil: there is none
}

// entry is one conversation in the archive.
type entry struct {
	conversation
	state    State
	bytes    int64
	sequence *Sequence // that holds the same; nil: it was evicted or has changed
}

// maxEntries bounds the entries: each has a memory mapping of its own, of which systems allow a
// process some ten thousand.
const maxEntries = 4096

// save begins to copy a sequence into a new entry, for add or discard. It returns nil if the
// archive does not take it. What is saved ahead drops no other entry that is still in the cache,
// and any entry only while such take less than a quarter of the archive.
func (a *archive) save(s *Sequence, ahead bool) *entry {
	state, err := a.states.SaveState(s.id)
	if err != nil {
		return nil // it will be computed again
	}
	e := &entry{conversation: s.conversation, state: state}
	e.tokens, e.grids, e.digests, e.checkpoints = slices.Clone(s.tokens), slices.Clone(s.grids), slices.Clone(s.digests), nil
	a.checkpoints.hold(&e.conversation, s.checkpoints, len(e.tokens))
	e.bytes = int64(state.Bytes()) + int64(4*cap(e.tokens))
	if e.bytes > a.budget/2 { // one conversation does not push out all others
		a.free(e)
		return nil
	}
	a.dropPrefixes(e)
	for a.bytes+e.bytes > a.budget || len(a.entries) >= maxEntries {
		victim := a.chooseVictim()
		if victim == nil || ahead && (victim.sequence != nil || a.cachedBytes()+e.bytes > a.budget/4) {
			a.free(e)
			return nil
		}
		a.retire(victim)
		a.drop(victim)
	}
	a.bytes += e.bytes
	return e
}

// add takes an entry whose copy is complete.
func (a *archive) add(e *entry) {
	a.entries = append(a.entries, e)
	a.demoteContinued()
}

// discard takes back what save began.
func (a *archive) discard(e *entry) {
	a.bytes -= e.bytes
	a.free(e)
}

// cachedBytes is what those entries take that are still in the cache, too.
func (a *archive) cachedBytes() (bytes int64) {
	for _, e := range a.entries {
		if e.sequence != nil {
			bytes += e.bytes
		}
	}
	return bytes
}

// chooseVictim finds the entry to drop first; nil: there is none.
func (a *archive) chooseVictim() (first *entry) {
	for _, e := range a.entries {
		switch {
		case e == a.wanted:
		case !e.continued:
			return e
		case first == nil:
			first = e
		}
	}
	return first
}

// demoteContinued lets the least recently used of the continued conversations compete with the rest
// when those take more than three quarters of the archive: else they would fill it forever.
func (a *archive) demoteContinued() {
	protected := int64(0)
	for _, e := range slices.Backward(a.entries) {
		if !e.continued {
			continue
		}
		if protected += e.bytes; protected > a.budget/4*3 {
			e.continued = false
		}
	}
}

// dropPrefixes drops the entries that a longer conversation begins with, since that holds all of
// them, but not the one that is wanted: that may be because the longer one cannot be cut there.
func (a *archive) dropPrefixes(longer *entry) {
	for _, e := range slices.Backward(a.entries) {
		if e != a.wanted && e.common(longer.tokens, longer.scope) == len(e.tokens) {
			a.drop(e)
		}
	}
}

// hasSame reports whether an entry is the same as a conversation, which another sequence may hold,
// too.
func (a *archive) hasSame(c *conversation) bool {
	return slices.ContainsFunc(a.entries, func(e *entry) bool {
		return len(e.tokens) == len(c.tokens) && e.common(c.tokens, c.scope) == len(c.tokens)
	})
}

// longestPrefix finds the entry of which a request can use most.
func (a *archive) longestPrefix(tokens []Token, scope Scope) (best *entry, common int) {
	tokens = reusable(tokens)
	for _, e := range a.entries {
		if n := a.usable(e, e.common(tokens, scope)); n > common {
			best, common = e, n
		}
	}
	return best, common
}

// touch makes an entry the most recently used one.
func (a *archive) touch(e *entry) {
	i := slices.Index(a.entries, e)
	a.entries = append(slices.Delete(a.entries, i, i+1), e)
}

func (a *archive) drop(e *entry) {
	i := slices.Index(a.entries, e)
	a.entries = slices.Delete(a.entries, i, i+1)
	a.bytes -= e.bytes
	if a.wanted == e {
		a.wanted = nil
	}
	if e.sequence != nil {
		e.sequence.unlink()
	}
	a.free(e)
}

// clear drops everything.
func (a *archive) clear() {
	for len(a.entries) > 0 {
		a.drop(a.entries[0])
	}
}

// free frees what an entry holds. The state's error is dropped: it is gone.
func (a *archive) free(e *entry) {
	a.checkpoints.drop(&e.conversation, 0)
	_ = e.state.Close()
}

// cuttable reports whether the first n tokens of an entry can come back alone.
func (a *archive) cuttable(e *entry, n int) bool {
	k := a.checkpoints.memory
	return k == nil || n == len(e.tokens) || k.StateCuttable(e.state, e.positions(n))
}

// usable is how many of the first n tokens of an entry can come back: alone, or with no more
// others, which are cut off again.
func (a *archive) usable(e *entry, n int) int {
	if n == 0 || a.cuttable(e, n) {
		return n
	}
	if n = e.lastPosition(n); 2*n < len(e.tokens) {
		return 0
	}
	return n
}

// copyInProgress is a copy that the memory makes. The books have its result at once, but no
// request gets the sequence until it is done: one that waits for it stays in the queue.
type copyInProgress struct {
	kind     copyKind
	sequence *Sequence   // copied into or, when it is saved, out of
	entry    *entry      // of the archive, when it is saved there
	exported func(error) // is told that a copy for others is complete, or has failed: an export, or one for the cold store
}

// copying is the copy in progress, and how long this tick may go on with it.
type copying struct {
	copy         copyInProgress
	copyTime     CopyTime
	tickBegan    time.Time
	saveAheadDue bool // sequences were acquired or released since SaveAhead found nothing more to save
}

type copyKind int

const (
	noCopy      copyKind = iota
	sharing              // a prefix from one sequence into another
	restoring            // from the archive into a sequence
	saving               // from a sequence into the archive
	savingAhead          // the same, or for the cold store, and no request waits for it
	exporting            // from a sequence to where nobody looks for prefixes
)

// CopyTime is how long a tick may copy, in all, before it begins a copy of a kind or goes on with
// one.
type CopyTime struct {
	Archive time.Duration // to and from the archive
	Prefix  time.Duration // from one sequence to another
	Ahead   time.Duration // to the archive or the cold store, when no request waits for it
	Here    bool          // what requests wait for is copied by the tick itself, not by a thread beside passes
}

// BeginTick sets how long this tick may copy, from now on, and goes on with the copy in progress.
func (c *Cache) BeginTick(t CopyTime) {
	c.copyTime, c.tickBegan, c.askAgain = t, c.now(), false
	c.continueCopy()
}

// Copying reports whether a copy is in progress.
func (c *Cache) Copying() bool { return c.copy.kind != noCopy }

// continueCopy goes on with the copy in progress for as long as the tick allows, and reports
// whether none is left.
func (c *Cache) continueCopy() bool {
	if !c.Copying() {
		return true
	}
	left := c.timeLeft(c.copy.kind)
	return left > 0 && c.advanceCopy(left, c.copyTime.Here && c.copy.kind != savingAhead)
}

// advanceCopy has the memory go on with the copy in progress and reports whether it is done. If
// that panics, the copy has failed.
func (c *Cache) advanceCopy(limit time.Duration, here bool) (done bool) {
	returned := false
	defer func() {
		if !returned {
			c.copyFailed()
		}
	}()
	done = c.memory.ContinueCopy(limit, here)
	if returned = true; done {
		c.copyDone()
	}
	return done
}

// timeLeft is how long this tick may still copy.
func (c *Cache) timeLeft(kind copyKind) time.Duration {
	most := c.copyTime.Archive
	switch kind {
	case sharing:
		most = c.copyTime.Prefix
	case savingAhead:
		most = c.copyTime.Ahead
	}
	return most - c.now().Sub(c.tickBegan)
}

// finishCopy finishes the copy in progress, however long that takes, or ends it if no request
// waits for it.
func (c *Cache) finishCopy() {
	c.cancelSaveAhead()
	if c.Copying() {
		c.advanceCopy(-1, true)
	}
}

// copyDone notes that the memory has made the copy.
func (c *Cache) copyDone() {
	done := c.copy
	c.copy = copyInProgress{}
	c.noteArrival(&c.copyAwaited)
	if done.exported != nil {
		done.exported(nil)
	}
	if done.entry != nil {
		c.archive.add(done.entry)
		done.entry.sequence, done.sequence.archived = done.sequence, done.entry
	}
}

// copyFailed forgets the copy in progress, if any, of which nobody knows what became.
func (c *Cache) copyFailed() {
	failed := c.copy
	c.copy = copyInProgress{}
	c.noteArrival(&c.copyAwaited)
	switch {
	case failed.kind == noCopy:
	case failed.exported != nil:
		failed.exported(errCopy)
	case failed.entry != nil:
		c.archive.discard(failed.entry)
	default:
		failed.sequence.unsure = true
	}
}

// save begins to copy a sequence into the archive, and reports whether that takes it.
func (c *Cache) save(s *Sequence, kind copyKind) bool {
	if c.cutToBorder(s); len(s.tokens) == 0 {
		return false
	}
	e := c.archive.save(s, kind == savingAhead)
	if e == nil {
		c.abortCopy()
		return false
	}
	c.copy = copyInProgress{kind: kind, sequence: s, entry: e}
	return true
}

// cancelSaveAhead ends a copy that no request waits for.
func (c *Cache) cancelSaveAhead() {
	if c.copy.kind == savingAhead {
		cancelled := c.copy
		c.copy, c.saveAheadDue = copyInProgress{}, true
		if cancelled.exported != nil { // for the cold store
			cancelled.exported(errCopy)
		} else {
			c.archive.discard(cancelled.entry)
		}
		c.abortCopy()
	}
}

// abortCopy ends a copy into a state that was closed.
func (c *Cache) abortCopy() { c.memory.ContinueCopy(0, false) }

// SaveAhead saves idle sequences before they must be evicted, so that a request finds a place at
// once. It does so while fewer than half of the sequences are empty, and begins with what is
// evicted next. What is saved also stays in the cache until it is evicted. Nobody waits for such a
// copy, and any other copy ends it.
func (c *Cache) SaveAhead() {
	c.saveAheadDue = c.saveAheadDue && c.archive.states != nil
	if !c.saveAheadDue {
		return
	}
	for c.continueCopy() {
		s := c.nextToSave()
		if s != nil && c.timeLeft(savingAhead) <= 0 {
			return
		}
		if s == nil || !c.save(s, savingAhead) {
			c.saveAheadDue = false
			return
		}
	}
}

// nextToSave is the sequence to save next; nil if there is none, or if enough sequences are empty.
func (c *Cache) nextToSave() *Sequence {
	empty := 0
	for _, s := range c.sequences {
		if len(s.tokens) == 0 {
			empty++
		}
	}
	if empty >= len(c.sequences)/2 {
		return nil
	}
	return c.choose(0, func(s *Sequence) bool { return c.worthSaving(s) && !c.archive.hasSame(&s.conversation) })
}
