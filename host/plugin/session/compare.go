// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// compare finds the first thing of a call's outcome that is not as recorded. Only what was
// recorded is compared.
func (p *Player) compare(want, got *Call) *Difference {
	if p.answers.problem != "" {
		return &Difference{Field: "asked", Recorded: "what the host can answer", Came: p.answers.problem}
	}
	if got == nil {
		if want.expects() {
			return &Difference{Field: "call", Recorded: "a call", Came: "none: the plugin has no such export, or declined it"}
		}
		return nil
	}
	for _, differs := range []func(want, got *Call) *Difference{
		differFault, differRefusal, differDeclined, differAnswered, differRun, p.differSample, p.differPrepare, p.differAccept, differStop, differPrompt, differMessages, differOutputs,
	} {
		if d := differs(want, got); d != nil {
			return d
		}
	}
	return p.differWritten(want, got)
}

// expects reports whether a call has an outcome to compare.
func (c *Call) expects() bool {
	return c.Answer != nil || c.Mask != nil || c.Bias != nil || c.Force != nil || c.Left != nil || c.Splice != nil || c.Prompt != nil || c.Messages != nil ||
		c.Outputs != nil || c.Refusal != nil || c.Declined != nil || c.Fault != nil || c.Written != nil || c.runs() && c.Deeds != nil
}

func differ(field, recorded, came string) *Difference {
	if recorded == came {
		return nil
	}
	return &Difference{Field: field, Recorded: recorded, Came: came}
}

func differFault(want, got *Call) *Difference {
	show := func(f *Fault) string {
		if f == nil {
			return "none"
		}
		return f.Kind + " in " + f.Export
	}
	d := differ("fault", show(want.Fault), show(got.Fault))
	if d != nil && got.Fault != nil && got.Fault.Detail != "" {
		d.Came += ": " + got.Fault.Detail
	}
	return d
}

// differRefusal compares refusals. One that was not recorded is a difference, too.
func differRefusal(want, got *Call) *Difference {
	show := func(r *string) string {
		if r == nil {
			return "none"
		}
		return strconv.Quote(*r)
	}
	return differ("refusal", show(want.Refusal), show(got.Refusal))
}

// differDeclined compares what the plugin has declined, in any order.
func differDeclined(want, got *Call) *Difference {
	if want.Declined == nil {
		return nil
	}
	show := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(slices.Sorted(slices.Values(list)), " ")
	}
	return differ("declined", show(want.Declined), show(got.Declined))
}

// differAnswered finds that there is no answer to compare: the plugin has no such export, or a
// fault kept it from answering.
func differAnswered(want, got *Call) *Difference {
	if want.Answer == nil || got.Answer != nil {
		return nil
	}
	return differ("answer", strconv.Itoa(int(*want.Answer)), "none")
}

func differRun(want, got *Call) *Difference {
	if want.Call != CallRun || want.Answer == nil {
		return nil
	}
	return differ("answer", strconv.Itoa(int(*want.Answer)), strconv.Itoa(int(*got.Answer)))
}

func (p *Player) differPrepare(want, got *Call) *Difference {
	if want.Call != CallPrepare {
		return nil
	}
	if want.Answer != nil {
		if d := differ("answer", filled(*want.Answer), filled(*got.Answer)); d != nil {
			return d
		}
	}
	if want.Mask != nil {
		if d := p.differMask(want.Mask, got.Mask); d != nil {
			return d
		}
	}
	if want.Bias != nil {
		if d := differ("bias", p.biases(want.Bias), p.biases(got.Bias)); d != nil {
			return d
		}
	}
	if want.Force != nil {
		return differ("force", p.tokens(want.Force), p.tokens(got.Force))
	}
	return nil
}

// filled reads the bits of prepare's answer.
func filled(bits int32) string {
	text := strconv.Itoa(int(bits))
	for _, b := range []struct {
		bit  int32
		name string
	}{{abi.PrepareMask, "mask"}, {abi.PrepareBias, "bias"}, {abi.PrepareForce, "force"}} {
		if bits&b.bit != 0 {
			text += " " + b.name
		}
	}
	return text
}

func (p *Player) differMask(want, got *Mask) *Difference {
	if got == nil {
		return &Difference{Field: "mask", Recorded: "a mask", Came: "none"}
	}
	n := len(p.file.Vocabulary.Pieces)
	a, b := want.Words(n), got.Words(n)
	show := func(words []uint32, t int) string {
		if words[t/32]>>(t%32)&1 == 1 {
			return p.token(Token(t)) + " may come"
		}
		return p.token(Token(t)) + " may not come"
	}
	for t := range n {
		if d := differ("mask", show(a, t), show(b, t)); d != nil {
			return d
		}
	}
	return nil
}

func (p *Player) differAccept(want, got *Call) *Difference {
	if want.Call != CallAccept {
		return nil
	}
	show := func(answer int32) string {
		return [...]string{"0, go on", "1, stop", "2, a splice"}[min(max(answer, 0), 2)]
	}
	if want.Answer != nil {
		if d := differ("answer", show(*want.Answer), show(*got.Answer)); d != nil {
			return d
		}
	}
	splice := func(s *Splice) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%d back, then %s", s.Backtrack, p.tokens(s.Tokens))
	}
	if want.Splice != nil {
		return differ("splice", splice(want.Splice), splice(got.Splice))
	}
	return nil
}

func differStop(want, got *Call) *Difference {
	if want.Call != CallStop || want.Answer == nil {
		return nil
	}
	show := func(answer int32) string {
		switch answer {
		case abi.StopShow:
			return "0, show"
		case abi.StopEnd:
			return "1, end"
		case abi.StopHide:
			return "2, end and hide"
		case abi.StopHold:
			return "3, hold"
		}
		return fmt.Sprintf("%d, end after %d bytes", answer, -int64(answer)-1)
	}
	return differ("answer", show(*want.Answer), show(*got.Answer))
}

// differPrompt shows where two prompts part.
func differPrompt(want, got *Call) *Difference {
	if want.Prompt == nil || got.Prompt == nil || *want.Prompt == *got.Prompt {
		return nil
	}
	a, b := string(*want.Prompt), string(*got.Prompt)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := max(0, same-20)
	return &Difference{Field: fmt.Sprintf("prompt, byte %d", same), Recorded: fmt.Sprintf("%.80q", a[from:]), Came: fmt.Sprintf("%.80q", b[from:])}
}

func differOutputs(want, got *Call) *Difference {
	if want.Outputs == nil {
		return nil
	}
	show := func(list []json.RawMessage) string {
		var all [][]byte
		for _, v := range list {
			var compact bytes.Buffer
			if json.Compact(&compact, v) == nil { // what was read is JSON
				all = append(all, compact.Bytes())
			}
		}
		return string(bytes.Join(all, []byte(", ")))
	}
	if got.Written != nil && near(decoded([]byte("["+show(want.Outputs)+"]")), decoded([]byte("["+show(got.Outputs)+"]"))) {
		return nil
	}
	return differ("outputs", show(want.Outputs), show(got.Outputs))
}

// token names a token for the reader.
func (p *Player) token(t Token) string {
	if t < 0 || int(t) >= len(p.file.Vocabulary.Pieces) {
		return fmt.Sprintf("token %d", t)
	}
	return fmt.Sprintf("token %d %q", t, string(p.file.Vocabulary.Pieces[t]))
}

func (p *Player) tokens(list []Token) string {
	if len(list) == 0 {
		return "no tokens"
	}
	text := ""
	for i, t := range list {
		if i > 0 {
			text += ", "
		}
		text += p.token(t)
	}
	return text
}

func (p *Player) biases(list []Bias) string {
	text := ""
	for i, b := range list {
		if i > 0 {
			text += ", "
		}
		text += p.token(b.Token) + " " + showLogit(b.Amount)
	}
	return text
}

func showLogit(x float32) string { return string(appendLogit(nil, x)) }

// same tells whether two logits are the same number. NaN is itself.
func same(a, b float32) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

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
