// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
)

// notes are what a guest has said of the token that is decided. They outlive an instance, as the
// session does.
type notes struct {
	noted  []string
	logged []string // lines of its log: they take no room from its notes
	// of tells of which token: how many had been accepted before it.
	of, accepted int
}

// TakeNotes returns what the guest has noted and logged of the token that was accepted last, or of
// the one that comes next.
func (n *notes) TakeNotes() []string {
	said := append(n.noted, n.logged...)
	n.noted, n.logged = nil, nil
	return said
}

// Accepting begins the call that tells the guest of the token that was decided.
func (n *notes) Accepting() { n.accepted++ }

// decides tells whether the call that runs is about a token, whose notes then are those of n.
func (n *notes) decides(running Export) bool {
	of := n.accepted
	switch running {
	case Prepare, Sample:
	case Accept:
		of--
	default:
		return false
	}
	if of != n.of {
		n.noted, n.logged, n.of = nil, nil, of // nobody wanted those before
	}
	return true
}

// note takes a note. The error says why it is refused.
func (i *Instance) note(text []byte) error {
	n := &i.session.notes
	if !n.decides(i.running) {
		return fmt.Errorf("note refused: %s is no place for it", i.running)
	}
	switch {
	case i.session.Replaying || i.session.NoNotes:
		return nil
	case len(text) > abi.LimitNoteBytes:
		return fmt.Errorf("note refused: it has %d bytes, and %d are the most", len(text), abi.LimitNoteBytes)
	case !utf8.Valid(text):
		return errors.New("note refused: it is not UTF-8")
	case len(n.noted) == abi.LimitNotes:
		return fmt.Errorf("note refused: %d for a token are the most", abi.LimitNotes)
	}
	n.noted = append(n.noted, string(text))
	return nil
}

func hostNote(i *Instance, c *call) uint64 {
	c.unseen = i.session.Replaying
	if err := i.note(c.in[0]); err != nil {
		i.session.log.add(abi.LogWarn, []byte(err.Error()))
		return i32(abi.NoteRefused)
	}
	return i32(abi.NoteOk)
}

// noteLine has the trace of the token that is decided tell a line of the log, as far as there is
// room.
func (i *Instance) noteLine(line []byte) {
	n := &i.session.notes
	if i.session.Replaying || !n.decides(i.running) || len(n.logged) == abi.LimitNotes {
		return
	}
	if len(line) > abi.LimitNoteBytes {
		line = dropCutCharacter(line[:abi.LimitNoteBytes])
	}
	n.logged = append(n.logged, strings.ToValidUTF8(string(line), "\uFFFD"))
}
