// SPDX-License-Identifier: MIT

// Package slotfile saves the conversations of slots to files in a folder, and restores them.
//
// # Why is --override-kv part of what a saved conversation is known by?
//
// Its cells were computed with these values, and with the rope's. llama.cpp reads them into a
// model that rotates by other angles without a word.
package slotfile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Folder is where the conversations of one model's slots are saved. It implements
// serving.Conversations.
type Folder struct {
	root      *os.Root
	engine    *engine.Engine
	scheduler *scheduler.Scheduler
	turn      chan struct{} // one file at a time: each takes as much memory as its conversation
}

// Open opens a folder, which must be there.
func Open(path string, e *engine.Engine, s *scheduler.Scheduler) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	_ = atomicfile.RemoveLeftovers(path) // they only take room, and a folder that cannot be written to still restores
	return &Folder{root: root, engine: e, scheduler: s, turn: make(chan struct{}, 1)}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Save implements serving.Conversations.
func (f *Folder) Save(ctx context.Context, slot int, salt, name string) (tokens int, bytes int64, err error) {
	if err := f.begin(ctx, name); err != nil {
		return 0, 0, err
	}
	defer f.end()
	saved, err := f.scheduler.SaveSlot(ctx, slot, salt)
	if err != nil {
		return 0, 0, slotError(slot, err)
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	states := contents(saved)
	o := origin{Bytes: len(states[0]), From: saved.Scope.From, Owner: ownerOf(salt), Pieces: savedPieces(saved.Pieces)}
	for i, p := range saved.Checkpoints {
		o.Checkpoints = append(o.Checkpoints, savedCheckpoint{p.N, len(states[1+i])})
	}
	if o.Model, err = f.engine.Identity(); err != nil {
		return 0, 0, err
	}
	if o.Adapters, err = f.engine.AdapterFiles(saved.Scope.Adapters); err != nil {
		return 0, 0, refusal.Invalid("id_slot", "the conversation of slot %d cannot be saved: %v", slot, err)
	}
	if bytes, err = f.write(name, saved.Tokens, states, o); errors.Is(err, errOther) {
		return 0, 0, refusal.Invalid("filename", "unable to save slot %d as %q: %v; choose another name", slot, name, err)
	} else if errors.Is(err, errForeign) {
		return 0, 0, &refusal.Error{Kind: refusal.KindConflict, Code: "file_exists", Field: "filename",
			Message: fmt.Sprintf("unable to save slot %d as %q: %v; choose another name", slot, name, err)}
	} else if err != nil {
		return 0, 0, fmt.Errorf("unable to save slot %d: %w", slot, withoutPath(err))
	}
	return len(saved.Tokens), bytes, nil
}

// contents collects what is in a conversation's state and in its checkpoints.
func contents(saved *kvcache.Saved) [][]byte {
	all := [][]byte{saved.State.Contents()}
	for _, p := range saved.Checkpoints {
		all = append(all, p.State.Contents())
	}
	return all
}

// write writes a file, in the place of the one that has its name.
func (f *Folder) write(name string, tokens []kvcache.Token, states [][]byte, o origin) (int64, error) {
	if stat, err := f.root.Lstat(name); err == nil && !stat.Mode().IsRegular() {
		return 0, errForeign
	}
	if err := f.refuseOther(name, o.Owner); err != nil {
		return 0, err
	}
	var n int64
	_, err := atomicfile.Write(f.root, name, 0o600, func(w io.Writer) (err error) {
		n, err = write(w, tokens, states, o)
		return err
	})
	return n, err
}

// Restore implements serving.Conversations.
func (f *Folder) Restore(ctx context.Context, slot int, salt, name string) (tokens int, bytes int64, err error) {
	if err := f.begin(ctx, name); err != nil {
		return 0, 0, err
	}
	defer f.end()
	saved, bytes, err := f.read(name, ownerOf(salt))
	if err != nil {
		return 0, 0, refusal.Invalid("filename", "unable to restore slot %d from %q: %v", slot, name, withoutPath(err))
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	saved.Scope.Salt = salt
	err = f.scheduler.RestoreSlot(ctx, slot, saved)
	return len(saved.Tokens), bytes, slotError(slot, err)
}

// read reads a file of this model and of its owner, or of nobody.
func (f *Folder) read(name, owner string) (*kvcache.Saved, int64, error) {
	if stat, err := f.root.Lstat(name); err != nil {
		return nil, 0, err
	} else if !stat.Mode().IsRegular() { // others may block
		return nil, 0, errors.New("it is no file")
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	r, err := open(file, stat.Size())
	if err != nil {
		return nil, 0, err
	}
	if !r.origin.isOpenTo(owner) {
		return nil, 0, errOther
	}
	scope, err := f.scope(r.origin)
	if err != nil {
		return nil, 0, err
	}
	saved, err := f.makeStates(r)
	if err != nil {
		return nil, 0, err
	}
	saved.Scope = scope
	if saved.Tokens, err = r.read(contents(saved)); err != nil {
		return nil, 0, errors.Join(err, saved.Close())
	}
	return saved, stat.Size(), nil
}

// makeStates makes the states that a file is read into.
func (f *Folder) makeStates(r *reader) (*kvcache.Saved, error) {
	pieces, err := r.origin.pieces()
	if err != nil {
		return nil, err
	}
	state := func(bytes, n int) (kvcache.State, error) { return f.engine.NewState(bytes, piece.Positions(pieces, n)) }
	saved := &kvcache.Saved{Pieces: pieces}
	if saved.State, err = state(r.origin.Bytes, int(r.count())); err != nil {
		return nil, err
	}
	for _, p := range r.origin.Checkpoints {
		s, err := state(p.Bytes, p.N)
		if err != nil {
			return nil, errors.Join(err, saved.Close())
		}
		saved.Checkpoints = append(saved.Checkpoints, kvcache.SavedCheckpoint{N: p.N, State: s})
	}
	return saved, nil
}

// scope refuses what another model has computed.
func (f *Folder) scope(o origin) (scope kvcache.Scope, err error) {
	own, err := f.engine.Identity()
	if err != nil {
		return scope, err
	}
	if o.Model != own {
		return scope, errors.New("it is a conversation with another model, or with other control vectors")
	}
	scope.From = o.From
	scope.Adapters, err = f.engine.AdapterKey(o.Adapters)
	return scope, err
}

// Erase implements serving.Conversations.
func (f *Folder) Erase(ctx context.Context, slot int, salt string) (int, error) {
	n, err := f.scheduler.EraseSlot(ctx, slot, salt)
	return n, slotError(slot, err)
}

// begin checks the name and waits for other files.
func (f *Folder) begin(ctx context.Context, name string) error {
	if !validName(name) {
		return refusal.Invalid("filename", "filename is %q; it must be the name of a file, without a path, of 1 to %d bytes", name, longestName)
	}
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Folder) end() { <-f.turn }

// slotError tells a client what a scheduler's error means here.
func slotError(slot int, err error) error {
	switch {
	case errors.Is(err, kvcache.ErrNoStates):
		return &refusal.Error{Kind: refusal.KindLacking, Code: "not_supported", Message: err.Error()}
	case errors.Is(err, kvcache.ErrNothingCached):
		return refusal.Invalid("id_slot", "slot %d has no conversation to save: %v; save it soon after an answer", slot, err)
	case errors.Is(err, scheduler.ErrBadRequest):
		return refusal.Invalid("id_slot", "%v", err)
	case errors.Is(err, kvcache.ErrState):
		return refusal.Invalid("filename", "unable to restore slot %d: %v; the server that saved it had another KV cache", slot, err)
	}
	return err
}

// withoutPath is why something about a file did not work, without telling where files lie.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// longestName is in bytes; no usual file system takes longer ones.
const longestName = 255

// validName reports whether a name may be that of a file: one element of a path, on every system
// the same and in no way misleading. It takes and refuses the names that llama-server does.
func validName(name string) bool {
	if name == "" || len(name) > longestName || !utf8.ValidString(name) || strings.ContainsFunc(name, forbidden) {
		return false
	}
	return name[0] != ' ' && !strings.HasSuffix(name, " ") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..")
}

// forbidden are separators and what looks like one, control characters, and what some system does
// not take.
func forbidden(r rune) bool {
	control := r <= 0x1f || r >= 0x7f && r <= 0x9f
	return control || strings.ContainsRune("/\\:*?\"<>|\uff0e\u2215\u2216\ufffd\ufeff", r)
}

// errForeign is why a file is not replaced, whoever asks.
var errForeign = errors.New("what is there under that name is no saved conversation")

// errOther is why a client may neither restore nor replace a file.
var errOther = errors.New("it was saved with another API key")

// ownerOf names whose a file is, by the salt of the client's cached prompts: what a key's prompts
// were is not told to other keys, neither from the cache nor from a file. It is empty where
// clients share what is cached. The salt itself is not written down.
func ownerOf(salt string) string {
	if salt == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("owner of a saved conversation\n" + salt))
	return hex.EncodeToString(sum[:])
}

// isOpenTo reports whether a client may use the file. A file without an owner, as of a server that
// asked for no keys, is everybody's.
func (o origin) isOpenTo(owner string) bool { return o.Owner == "" || o.Owner == owner }

// refuseOther refuses to replace a file of another owner, and one that is no saved conversation:
// the folder may hold others. One that begins as a conversation and is damaged, or is
// llama-server's, may be replaced.
func (f *Folder) refuseOther(name, owner string) error {
	file, err := f.root.Open(name)
	if err != nil {
		return nil // there is none, or writing will say what is wrong with it
	}
	defer file.Close() //nolint:errcheck // nothing was written
	stat, err := file.Stat()
	if err != nil {
		return err
	}
	r, err := open(file, stat.Size())
	var begins [4]byte
	switch {
	case err == nil && !r.origin.isOpenTo(owner):
		return errOther
	case err == nil:
		return nil
	}
	if _, err := file.ReadAt(begins[:], 0); err != nil || binary.LittleEndian.Uint32(begins[:]) != magic {
		return errForeign
	}
	return nil
}
