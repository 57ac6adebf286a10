// SPDX-License-Identifier: MIT

package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/plugins/abi"
)

// asked is how files had what plugins other than programs asked the host, and how the SDKs' native
// drivers write it: as questions, without the parameters of the calls.
type asked struct {
	Import   string          `json:"import"`
	Text     *Text           `json:"text"`
	Flags    uint32          `json:"flags"`
	Kind     int32           `json:"kind"`
	Handle   int32           `json:"handle"`
	Token    Token           `json:"token"`
	Tokens   []Token         `json:"tokens"`
	Mask     *Mask           `json:"mask"`
	Count    int32           `json:"count"`
	OK       bool            `json:"ok"`
	Error    string          `json:"error"`
	State    Logits          `json:"state"`
	Sampling json.RawMessage `json:"sampling"`
}

// UnmarshalJSON implements json.Unmarshaler. It reads both forms.
func (d *Deed) UnmarshalJSON(text []byte) error {
	var form struct {
		Import *string `json:"import"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Import == nil {
		type fields Deed
		return strict(text, (*fields)(d))
	}
	var a asked
	if err := strict(text, &a); err != nil {
		return err
	}
	return a.deed(d)
}

// opensNext is the answer of grammar_open that numbered replaces.
const opensNext = -1 << 31

// deed makes a deed of a question.
func (a *asked) deed(d *Deed) error {
	*d = Deed{Do: a.Import, Got: &Got{}, Error: a.Error}
	refused := a.Error != ""
	answer := func(good, bad int32) {
		if d.Answer = good; refused {
			d.Answer = bad
		}
	}
	switch a.Import {
	case abi.ImportTokenize, abi.ImportGrammarOpen:
		if d.Text = a.Text; a.Text == nil {
			return errors.New("text: it is missing")
		}
		if d.Args = []int32{int32(len(*a.Text)), int32(a.Flags), 0}; a.Import == abi.ImportTokenize {
			d.Got.Tokens = a.Tokens
			answer(int32(len(a.Tokens)), -1)
		} else {
			d.Args = []int32{a.Kind, int32(len(*a.Text))}
			answer(opensNext, -1)
		}
	case abi.ImportGrammarMask, abi.ImportGrammarMaskWithin:
		d.Args, d.Got.Mask = []int32{a.Handle}, a.Mask
		if answer(0, -1); a.Import == abi.ImportGrammarMaskWithin {
			if d.Args = append(d.Args, a.Count); !a.OK && !refused {
				d.Answer = abi.WithinTooFew
			}
		}
	case abi.ImportGrammarRest:
		d.Args = []int32{a.Handle}
		if answer(a.Count, abi.RestUnknown); a.OK {
			d.Answer = abi.RestEnded
		}
	case abi.ImportGrammarAccept:
		if d.Args = []int32{a.Handle, a.Token}; !a.OK {
			d.Answer = -1
		}
	case abi.ImportPart:
		d.Answer = a.Count
	case abi.ImportState:
		d.Answer, d.Args, d.Got.Numbers = a.Count, []int32{0}, a.State
	case abi.ImportPrompt:
		if d.Got.Text = a.Text; a.Text == nil && !refused {
			return errors.New("text: it is missing")
		}
		answer(int32(len(textOf(a.Text))), -1)
	case abi.ImportRequest:
		if a.Sampling == nil {
			return errors.New("sampling: it is missing")
		}
		told := Text(`{"sampling":` + string(a.Sampling) + `}`)
		d.Got.Text = &told
	default:
		return fmt.Errorf("import: %q is not asked for; there are tokenize, grammar_open, grammar_mask, grammar_mask_within, grammar_rest, grammar_accept, part, state, prompt and request", a.Import)
	}
	if d.Got.empty() {
		d.Got = nil
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. Questions are read as deeds, before the others.
func (c *Call) UnmarshalJSON(text []byte) error {
	type fields Call
	parts := struct {
		*fields
		Asked []json.RawMessage `json:"asked"`
		Deeds []json.RawMessage `json:"deeds"`
	}{fields: (*fields)(c)}
	if err := strict(text, &parts); err != nil {
		return err
	}
	var questions, deeds []Deed
	if err := errors.Join(eachOf("asked", parts.Asked, &questions), eachOf("deeds", parts.Deeds, &deeds)); err != nil {
		return err
	}
	if parts.Asked != nil || parts.Deeds != nil {
		c.Deeds = append(questions, deeds...)
	}
	return nil
}

// numbered gives grammars of questions their handles: an instance's count from 0, and a rewind may
// be told to a new one.
func (s *Session) numbered() {
	number(s.Warm, 0)
	next := int32(0)
	for i := range s.Calls {
		if s.Calls[i].Call == CallRewind {
			next = 0
		}
		next = number(s.Calls[i].Deeds, next)
	}
}

// number numbers grammars from a handle on, and returns the one after them.
func number(deeds []Deed, next int32) int32 {
	for i := range deeds {
		d := &deeds[i]
		if d.Do != abi.ImportGrammarOpen || d.Answer < 0 && d.Answer != opensNext {
			continue
		}
		if d.Answer == opensNext {
			d.Answer = next
		}
		next = d.Answer + 1
	}
	return next
}
