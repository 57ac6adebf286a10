// SPDX-License-Identifier: MIT

package lexeme

// Sixteen returns the states after b and after the fifteen other bytes that differ from it in the
// last four bits, in their order; nil where all are Dead. Its errors are Next's.
func (t *Automata) Sixteen(s State, b byte) (*[16]State, error) {
	r := &t.rows.at(uint32(s))[b>>4]
	if r.Load() == 0 {
		if _, err := t.Next(s, b); err != nil {
			return nil, err
		}
	}
	at := r.Load()
	if at == deadBlock {
		return nil, nil
	}
	return (*[16]State)(t.blocks.at(at)), nil
}
