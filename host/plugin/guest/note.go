// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
)

// notes are what a guest has said of the token that is decided. They outlive an instance, as the
// session does.
type notes struct {
	noted []string
	// of tells of which token: how many had been accepted before it.
	of, accepted int
}

// TakeNotes returns what the guest has said of the token that was accepted last, or of the one that
// comes next.
func (n *notes) TakeNotes() []string {
	noted := n.noted
	n.noted = nil
	return noted
}

// Accepting begins the call that tells the guest of the token that was decided.
func (n *notes) Accepting() { n.accepted++ }

// note takes a note. The error says why it is refused.
func (i *Instance) note(text []byte) error {
	n := &i.session.notes
	of := n.accepted
	switch i.running {
	case Prepare, Sample:
	case Accept:
		of--
	default:
		return fmt.Errorf("note refused: %s is no place for it", i.running)
	}
	if of != n.of {
		n.noted, n.of = nil, of // nobody wanted those before
	}
	switch {
	case i.session.Replaying:
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
