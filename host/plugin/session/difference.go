// SPDX-License-Identifier: MIT

package session

import "fmt"

// Difference is the first call of a session that came out differently.
type Difference struct {
	Call     int    `json:"call"`     // which of the session's, from 1
	Name     string `json:"name"`     // of the call
	Position int    `json:"position"` // tokens of the conversation before it
	Answered int    `json:"answered"` // those of them that are the answer's
	Field    string `json:"field"`    // of the outcome: answer, mask, left and so on
	Recorded string `json:"recorded"` // for the reader
	Came     string `json:"came"`
}

// String tells where the difference is, and what it is.
func (d *Difference) String() string {
	return fmt.Sprintf("call %d, %s, at answer token %d (position %d): %s: recorded %s, came %s",
		d.Call, d.Name, d.Answered+1, d.Position, d.Field, d.Recorded, d.Came)
}
