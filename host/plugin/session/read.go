// SPDX-License-Identifier: MIT

package session

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/penstock/penstock/plugins/abi"
)

// ErrFormat refuses a file that is no session file or has an impossible value. The error names the
// field.
var ErrFormat = errors.New("bad session file")

// largest bounds an unpacked file, in bytes.
const largest = 1 << 30

// Read reads a session file: JSON, or gzip of it. The error wraps ErrFormat, or is the reader's.
func Read(from io.Reader) (*File, error) {
	buffered := bufio.NewReader(from)
	var plain io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		plain = unpacked
	}
	text, err := io.ReadAll(io.LimitReader(plain, largest+1))
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(flate.CorruptInputError)):
		return nil, fmt.Errorf("%w: it is damaged or cut: %w", ErrFormat, err)
	case err != nil:
		return nil, err
	case len(text) > largest:
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrFormat, largest)
	}
	f := &File{}
	if err := f.parse(bytes.TrimPrefix(text, []byte("\ufeff"))); err != nil { // some editors begin files with this mark
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return f, nil
}

func (f *File) parse(text []byte) error {
	var version struct {
		Version int `json:"penstock_session"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return addLine(err, text)
	}
	switch version.Version {
	case Version:
	case 0:
		return fmt.Errorf(`penstock_session is missing: a session file begins with {"penstock_session": %d, …}`, Version)
	default:
		return fmt.Errorf("penstock_session is %d; this version of Penstock reads %d", version.Version, Version)
	}
	if err := decodeStrict(text, f); err != nil {
		return addLine(err, text)
	}
	return f.check()
}

// addLine adds the line to a JSON error that has an offset.
func addLine(err error, text []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
	}
	return err
}

// decodeStrict decodes one JSON value. An unknown field is an error.
func decodeStrict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. Errors name the field.
func (f *File) UnmarshalJSON(text []byte) error {
	type fields File
	parts := struct {
		*fields
		Sessions []json.RawMessage `json:"sessions"`
	}{fields: (*fields)(f)}
	if err := decodeStrict(text, &parts); err != nil {
		return err
	}
	return decodeEach("sessions", parts.Sessions, &f.Sessions)
}

// UnmarshalJSON implements json.Unmarshaler. Errors name the field.
func (s *Session) UnmarshalJSON(text []byte) error {
	type fields Session
	parts := struct {
		*fields
		Calls []json.RawMessage `json:"calls"`
	}{fields: (*fields)(s)}
	if err := decodeStrict(text, &parts); err != nil {
		return err
	}
	return decodeEach("calls", parts.Calls, &s.Calls)
}

// decodeEach decodes the entries of a list, so that an error can name the entry.
func decodeEach[T any](field string, from []json.RawMessage, to *[]T) error {
	*to = make([]T, len(from))
	for i, text := range from {
		if err := decodeStrict(text, &(*to)[i]); err != nil {
			return fmt.Errorf("%s[%d]: %w", field, i, err)
		}
	}
	return nil
}

// check refuses values that no session can have. The error names the field.
func (f *File) check() error {
	n := len(f.Vocabulary.Pieces)
	return cmp.Or(f.Vocabulary.check(), f.Table.Check("table", n), checkEach("sessions", f.Sessions, func(_ int, s *Session) error {
		return cmp.Or(s.check(n), s.checkModel(n, f.modelOf(s) != nil))
	}))
}

// checkEach finds the first entry of a list with an error, and names it.
func checkEach[T any](field string, list []T, check func(i int, entry *T) error) error {
	for i := range list {
		if err := check(i, &list[i]); err != nil {
			return fmt.Errorf("%s[%d].%w", field, i, err)
		}
	}
	return nil
}

func (s *Session) check(n int) error {
	if s.Plugin.Name == "" {
		return errors.New("plugin.name: it is missing")
	}
	for i, t := range s.Request.Prompt {
		if t == abi.TokenMedia {
			continue
		}
		if err := checkToken(fmt.Sprintf("request.prompt[%d]", i), t, n); err != nil {
			return err
		}
	}
	length := len(s.Request.Prompt)
	return cmp.Or(checkEach("warm", s.Warm, func(_ int, d *Deed) error { return d.check(n) }),
		checkEach("plan", s.Plan, func(_ int, d *Deed) error { return d.check(n) }), checkEach("calls", s.Calls, func(i int, c *Call) error {
			if i > 0 && s.Calls[i-1].over() {
				return fmt.Errorf("call: %q; nothing follows a fault or a refusal", c.Call)
			}
			if err := c.check(n); err != nil {
				return err
			}
			return c.checkOrder(s.Calls[:i], &length, len(s.Request.Prompt))
		}))
}

// checkOrder checks that a call may follow the calls before it. It updates the length of the
// conversation.
func (c *Call) checkOrder(before []Call, length *int, prompt int) error {
	if i := len(before) - 1; i > 0 && (c.runs() != before[i].runs() || before[i].Call == CallRun) {
		return fmt.Errorf("call: %q after %q; steps of a program follow open, and a run is the last call", c.Call, before[i].Call)
	}
	switch {
	case (c.Call == CallOpen || c.renders()) != (len(before) == 0):
		return fmt.Errorf("call: %q; open, render or messages is the first call of a session, and no other", c.Call)
	case len(before) > 0 && before[0].renders():
		return fmt.Errorf("call: %q; a session of a template has one call, render or messages", c.Call)
	case c.Call == CallRewind && (*c.Keep < prompt || *c.Keep > *length):
		return fmt.Errorf("keep: %d; the prompt has %d tokens, the conversation %d", *c.Keep, prompt, *length)
	case c.Splice != nil && c.Fault == nil && (c.Splice.Backtrack < 0 || c.Splice.Backtrack > *length+1-prompt):
		return fmt.Errorf("splice.backtrack: %d; the answer has %d tokens", c.Splice.Backtrack, *length+1-prompt)
	}
	switch c.Call {
	case CallAccept:
		*length++
		if c.Splice != nil {
			*length -= c.Splice.Backtrack
		}
	case CallRewind:
		*length = *c.Keep + len(c.Tokens)
	case CallOpen:
		*length += len(c.Tokens)
	}
	return nil
}

// runs reports whether the call is a program's step or run.
func (c *Call) runs() bool { return c.Call == CallStep || c.Call == CallRun }

// renders reports whether the call renders or rewrites a conversation, in an instance of its own.
func (c *Call) renders() bool { return c.Call == CallRender || c.Call == CallMessages }

// check checks a call without regard to others.
func (c *Call) check(n int) error {
	return cmp.Or(c.checkInput(n), c.checkOutcome(), checkEach("deeds", c.Deeds, func(_ int, d *Deed) error { return d.check(n) }), c.Mask.check(n))
}

// checkInput checks that a call has the fields that it needs.
func (c *Call) checkInput(n int) error {
	switch c.Call {
	case CallOpen, CallPrepare, CallRender, CallMessages, CallRefuse, CallStep, CallRun:
	case CallFilter, CallUnfilter:
		if c.Call == CallUnfilter && c.Count < 0 {
			return fmt.Errorf("count: %d; it is how many calls of filter do not stand any more", c.Count)
		}
	case CallStopRewind:
		if c.Bytes < 0 || c.Count < 0 {
			return fmt.Errorf("count: %d, bytes: %d; they are how many tokens and how many bytes of their text are taken back", c.Count, c.Bytes)
		}
	case CallAccept, CallStop:
		if c.Token == nil {
			return errors.New("token: it is missing")
		}
		if err := checkToken("token", *c.Token, n); err != nil {
			return err
		}
		if c.Call == CallStop && c.Text == nil {
			return errors.New("text: it is missing")
		}
	case CallRewind:
		if c.Keep == nil {
			return errors.New("keep: it is missing; it is how many tokens stay, prompt included")
		}
	case CallSample:
		return c.checkView(n)
	default:
		return fmt.Errorf("call: there is no %q; the calls are open, prepare, sample, accept, stop, rewind, stop_rewind, filter, unfilter, render, messages (of a plugin that rewrites them), refuse, step and run", c.Call)
	}
	return checkTokens("tokens", c.Tokens, n)
}

func (c *Call) checkView(n int) error {
	switch {
	case c.IDs != nil && len(c.IDs) != len(c.Logits):
		return fmt.Errorf("logits: %d for %d ids", len(c.Logits), len(c.IDs))
	case c.IDs == nil && c.Logits != nil && len(c.Logits) != n:
		return fmt.Errorf("logits: %d without ids; a row has one for each of the %d tokens", len(c.Logits), n)
	case c.Left != nil && c.Answer != nil && (*c.Answer >= 0 || *c.Answer == abi.SampleBiased):
		return fmt.Errorf("left: nothing is told of what is left with the answer %d; with %d give bias, and with a token neither", *c.Answer, abi.SampleBiased)
	case c.Left != nil && (c.Left.SHA256 != "" || c.Left.IDs != nil) && len(c.Left.IDs) != len(c.Left.Logits):
		return fmt.Errorf("left.logits: %d for %d ids", len(c.Left.Logits), len(c.Left.IDs))
	}
	seen := map[Token]bool{}
	for i, t := range c.IDs {
		if err := checkToken(fmt.Sprintf("ids[%d]", i), t, n); err != nil {
			return err
		}
		if seen[t] {
			return fmt.Errorf("ids[%d]: token %d is there twice", i, t)
		}
		seen[t] = true
	}
	return nil
}

// asked is the form that earlier files have of a deed: a question of a plugin that is no program,
// without the parameters of the call.
type asked struct {
	Import   string          `json:"import"`
	Text     *Text           `json:"text"`
	Flags    int32           `json:"flags"`
	Kind     int32           `json:"kind"`
	Handle   int32           `json:"handle"` // as the writer counted
	Token    Token           `json:"token"`
	Tokens   []Token         `json:"tokens"`
	Mask     *Mask           `json:"mask"`
	Count    int32           `json:"count"`
	OK       bool            `json:"ok"`
	Error    string          `json:"error"`
	State    Logits          `json:"state"`
	Sampling json.RawMessage `json:"sampling"`
}

// unknown is a handle that a file does not tell. In args it matches any handle; as an answer it
// stands for the next one.
const unknown = -1 << 31

// deed turns a question into a deed.
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
	if a.Text == nil && (a.Import == abi.ImportTokenize || a.Import == abi.ImportGrammarOpen || a.Import == abi.ImportPrompt && a.Error == "") {
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
		return decodeStrict(text, (*fields)(d))
	}
	var a asked
	err := decodeStrict(text, &a)
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
	if err := decodeStrict(text, &parts); err != nil {
		return err
	}
	var questions, deeds []Deed
	if err := errors.Join(decodeEach("asked", parts.Asked, &questions), decodeEach("deeds", parts.Deeds, &deeds)); err != nil {
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
