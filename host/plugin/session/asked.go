// SPDX-License-Identifier: MIT

package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/plugins/abi"
)

// This file reads what earlier files have: questions of plugins other than programs, without the
// parameters of the calls. They become deeds.

// asked is a question.
type asked struct {
	Import   string          `json:"import"`
	Text     *Text           `json:"text"`
	Flags    int32           `json:"flags"`
	Kind     int32           `json:"kind"`
	Handle   int32           `json:"handle"` // by a count of the writer's
	Token    Token           `json:"token"`
	Tokens   []Token         `json:"tokens"`
	Mask     *Mask           `json:"mask"`
	Count    int32           `json:"count"`
	OK       bool            `json:"ok"`
	Error    string          `json:"error"`
	State    Logits          `json:"state"`
	Sampling json.RawMessage `json:"sampling"`
}

// unknown is a handle that a file does not tell: in args any, as an answer the next one.
const unknown = -1 << 31

// deed makes a deed of a question.
func (a *asked) deed() (d Deed, err error) {
	d = Deed{Do: a.Import, Error: a.Error, Got: &Got{}}
	size, good, bad := int32(len(textOf(a.Text))), int32(0), int32(-1)
	switch a.Import {
	case abi.ImportTokenize:
		d.Text, d.Args, d.Got.Tokens, good = a.Text, []int32{size, a.Flags, 0}, a.Tokens, int32(len(a.Tokens))
	case abi.ImportGrammarOpen:
		d.Text, d.Args, good = a.Text, []int32{a.Kind, size}, unknown
	case abi.ImportGrammarMask:
		d.Args, d.Got.Mask = []int32{unknown}, a.Mask
	case abi.ImportGrammarMaskWithin:
		if d.Args, d.Got.Mask = []int32{unknown, a.Count}, a.Mask; !a.OK {
			good = abi.WithinTooFew
		}
	case abi.ImportGrammarRest:
		if d.Args, good, bad = []int32{unknown}, a.Count, abi.RestUnknown; a.OK {
			good = abi.RestEnded
		}
	case abi.ImportGrammarAccept:
		if d.Args = []int32{unknown, a.Token}; !a.OK {
			good = -1
		}
	case abi.ImportPart:
		good = a.Count
	case abi.ImportState:
		d.Args, d.Got.Numbers, good = []int32{0}, a.State, a.Count
	case abi.ImportPrompt:
		d.Got.Text, good = a.Text, size
	case abi.ImportRequest:
		if a.Sampling == nil {
			return d, errors.New("sampling: it is missing")
		}
		d.Got.Text = newText(`{"sampling":` + string(a.Sampling) + `}`)
	default:
		return d, fmt.Errorf("import: %q is not asked for; there are tokenize, grammar_open, grammar_mask, grammar_mask_within, grammar_rest, grammar_accept, part, state, prompt and request", a.Import)
	}
	needsText := a.Import == abi.ImportTokenize || a.Import == abi.ImportGrammarOpen || a.Import == abi.ImportPrompt && a.Error == ""
	if needsText && a.Text == nil {
		return d, errors.New("text: it is missing")
	}
	if d.Got.empty() {
		d.Got = nil
	}
	if d.Answer = good; a.Error != "" {
		d.Answer = bad
	}
	return d, nil
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
	err := strict(text, &a)
	if err == nil {
		*d, err = a.deed()
	}
	return err
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
	if c.Left != nil && c.Answer == nil { // something is left where a sampler says that it has edited
		edited := int32(abi.SampleEdited)
		c.Answer = &edited
	}
	return nil
}
