// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// outcome is a field of a call's outcome.
type outcome struct {
	field string
	calls []string // that may have it; nil: all
	there func(c *Call) bool
	show  func(p *Player, c *Call) string         // for the reader; equal texts are equal outcomes
	first func(p *Player, a, b *Call) *Difference // in place of show: finds the first difference of many values
}

// outcomes lists all fields in the order in which they are compared. A fault and a refusal are
// differences also where a file has none.
var outcomes = []outcome{
	{field: "fault", there: func(c *Call) bool { return c.Fault != nil }, show: func(_ *Player, c *Call) string {
		return showOptional(c.Fault, func(f Fault) string { return f.Kind + " in " + f.Export })
	}},
	{field: "refusal", calls: []string{CallOpen, CallRender, CallMessages, CallRewind, CallRun}, there: func(c *Call) bool { return c.Refusal != nil }, show: func(_ *Player, c *Call) string { return showOptional(c.Refusal, strconv.Quote) }},
	{field: "declined", calls: []string{CallOpen}, there: func(c *Call) bool { return c.Declined != nil }, show: func(_ *Player, c *Call) string {
		return cmp.Or(strings.Join(slices.Sorted(slices.Values(c.Declined)), " "), "none")
	}},
	{field: "answer", calls: []string{CallPrepare, CallSample, CallAccept, CallStop, CallRun}, there: func(c *Call) bool { return c.Answer != nil }, show: (*Player).answer},
	{field: "left", calls: []string{CallSample}, there: func(c *Call) bool {
		return c.Left != nil || c.Answer != nil && *c.Answer < abi.SampleEdited && c.Call == CallSample
	}, first: (*Player).differLeft},
	{field: "mask", calls: []string{CallPrepare}, there: func(c *Call) bool { return c.Mask != nil }, first: (*Player).differMask},
	{field: "bias", calls: []string{CallPrepare, CallSample}, there: func(c *Call) bool { return c.Bias != nil }, show: func(p *Player, c *Call) string {
		return joinShown(c.Bias, func(b Bias) string { return p.token(b.Token) + " " + showLogit(b.Amount) })
	}},
	{field: "force", calls: []string{CallPrepare}, there: func(c *Call) bool { return c.Force != nil }, show: func(p *Player, c *Call) string { return p.tokens(c.Force) }},
	{field: "splice", calls: []string{CallAccept}, there: func(c *Call) bool { return c.Splice != nil }, show: func(p *Player, c *Call) string {
		return showOptional(c.Splice, func(s Splice) string { return fmt.Sprintf("%d back, then %s", s.Backtrack, p.tokens(s.Tokens)) })
	}},
	{field: "prompt", calls: []string{CallRender}, there: func(c *Call) bool { return c.Prompt != nil }, first: differPrompt},
	{field: "messages", calls: []string{CallMessages}, there: func(c *Call) bool { return c.Messages != nil }, show: func(_ *Player, c *Call) string {
		if c.Messages == nil {
			return "none"
		}
		return asJSON(decodeJSON(c.Messages))
	}},
	{field: "filtered", calls: []string{CallFilter}, there: func(c *Call) bool { return c.Filtered != nil }, show: func(_ *Player, c *Call) string {
		return showOptional(c.Filtered, func(t Text) string { return strconv.Quote(string(t)) })
	}},
	{field: "outputs", there: func(c *Call) bool { return c.Outputs != nil }, first: differOutputs},
	{field: "shown", there: func(c *Call) bool { return c.Written != nil && c.Shown != nil }, show: func(p *Player, c *Call) string {
		return showChoices(c, func(w *Written) [][]Token { return w.Shown }, p.tokens)
	}},
	{field: "logprobs", there: func(c *Call) bool { return c.Written != nil && c.Logprobs != nil }, first: differLogprobs},
	{field: "adopted", there: func(c *Call) bool { return c.Written != nil && c.Adopted != nil }, show: func(_ *Player, c *Call) string {
		return showOptional(c.Written, func(w Written) string { return asJSON(append([]Adopted{}, w.Adopted...)) })
	}},
	{field: "computed", there: func(c *Call) bool { return c.Written != nil && c.Computed != nil }, show: func(_ *Player, c *Call) string {
		return showOptional(c.Written, func(w Written) string { return showOptional(w.Computed, strconv.Itoa) })
	}},
}

// hasOutcome reports whether a call has an outcome to compare.
func (c *Call) hasOutcome() bool {
	return c.runs() && c.Deeds != nil || slices.ContainsFunc(outcomes, func(o outcome) bool { return o.there(c) })
}

// checkOutcome refuses an outcome that belongs to another call.
func (c *Call) checkOutcome() error {
	for _, o := range outcomes {
		if o.calls != nil && o.there(c) && !slices.Contains(o.calls, c.Call) {
			return fmt.Errorf("%s: it belongs to %v, not to %s", o.field, o.calls, c.Call)
		}
	}
	return nil
}

// compare finds the first field of a call's outcome that is not as recorded. Only fields that were
// recorded are compared.
func (p *Player) compare(want, got *Call) *Difference {
	switch {
	case p.answers.problem != "":
		return &Difference{Field: "asked", Recorded: "what the host can answer", Came: p.answers.problem}
	case got == nil && want.hasOutcome():
		return &Difference{Field: "call", Recorded: "a call", Came: "none: the plugin has no such export, or declined it"}
	case got == nil:
		return nil
	}
	for _, o := range outcomes {
		var d *Difference
		switch {
		case !o.there(want) && o.field != "fault" && o.field != "refusal":
		case o.field == "answer" && got.Answer == nil: // a fault kept it from answering
			d = compareTexts(o.field, strconv.Itoa(int(*want.Answer)), "none")
		case o.first != nil:
			d = o.first(p, want, got)
		default:
			d = compareTexts(o.field, o.show(p, want), o.show(p, got))
		}
		if d == nil {
			continue
		}
		if o.field == "fault" && got.Fault != nil && got.Fault.Detail != "" {
			d.Came += ": " + got.Fault.Detail
		}
		return d
	}
	return nil
}

func compareTexts(field, recorded, came string) *Difference {
	if recorded == came {
		return nil
	}
	return &Difference{Field: field, Recorded: recorded, Came: came}
}

// answer describes what an export returned.
func (p *Player) answer(c *Call) string {
	a := *c.Answer
	text := strconv.Itoa(int(a))
	switch {
	case c.Call == CallSample && a >= 0:
		return p.token(a)
	case c.Call == CallSample && a == abi.SampleBiased:
		return "logits are biased"
	case c.Call == CallSample:
		return "candidates are left"
	case c.Call == CallPrepare:
		for i, name := range []string{"mask", "bias", "force"} {
			if a&[]int32{abi.PrepareMask, abi.PrepareBias, abi.PrepareForce}[i] != 0 {
				text += " " + name
			}
		}
	case c.Call == CallAccept:
		return [...]string{"0, go on", "1, stop", "2, a splice"}[min(max(a, 0), 2)]
	case c.Call == CallStop && a >= 0 && a <= abi.StopHold:
		return [...]string{abi.StopShow: "0, show", abi.StopEnd: "1, end", abi.StopHide: "2, end and hide", abi.StopHold: "3, hold"}[a]
	case c.Call == CallStop:
		return fmt.Sprintf("%d, end after %d bytes", a, -int64(a)-1)
	}
	return text
}

func (p *Player) differMask(want, got *Call) *Difference {
	if got.Mask == nil {
		return &Difference{Field: "mask", Recorded: "a mask", Came: "none"}
	}
	n := len(p.file.Vocabulary.Pieces)
	a, b := want.Mask.Words(n), got.Mask.Words(n)
	says := [...]string{" may not come", " may come"}
	for t := range n {
		if x, y := a[t/32]>>(t%32)&1, b[t/32]>>(t%32)&1; x != y {
			return compareTexts("mask", p.token(Token(t))+says[x], p.token(Token(t))+says[y])
		}
	}
	return nil
}

// differPrompt shows where two prompts begin to differ.
func differPrompt(_ *Player, want, got *Call) *Difference {
	if got.Prompt == nil || *want.Prompt == *got.Prompt {
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

// differOutputs compares outputs: as texts, or as values if the session has a model.
func differOutputs(_ *Player, want, got *Call) *Difference {
	show := func(list []json.RawMessage) string {
		return joinShown(list, func(v json.RawMessage) string {
			var compact bytes.Buffer
			_ = json.Compact(&compact, v) // what was read is JSON
			return compact.String()
		})
	}
	a, b := show(want.Outputs), show(got.Outputs)
	if got.Written != nil && sameJSON(decodeJSON([]byte("["+a+"]")), decodeJSON([]byte("["+b+"]"))) {
		return nil
	}
	return compareTexts("outputs", a, b)
}

func differLogprobs(_ *Player, want, got *Call) *Difference {
	told := func(list []Logit) []Logit { // a list of NaN alone counts as none
		if !slices.ContainsFunc(list, func(l Logit) bool { return !math.IsNaN(float64(l)) }) {
			return nil
		}
		return list
	}
	alike := func(a, b []Logit) bool {
		return slices.EqualFunc(told(a), told(b), func(x, y Logit) bool { return sameNumber(float64(x), float64(y)) })
	}
	if got.Written != nil {
		came := make(ByChoice[Logit], max(len(got.Shown), len(got.Logprobs)))
		copy(came, got.Logprobs)
		if slices.EqualFunc(want.Logprobs, came, alike) {
			return nil
		}
	}
	show := func(c *Call) string {
		return showChoices(c, func(w *Written) [][]Logit { return w.Logprobs }, func(list []Logit) string { return fmt.Sprint(list) })
	}
	return compareTexts("logprobs", show(want), show(got))
}

// differLeft finds the first remaining candidate that differs, or compares whole rows: by their
// digests, and then by their best entries. If those are the same, the difference is in an entry
// that was not recorded.
func (p *Player) differLeft(want, got *Call) *Difference {
	if want.Answer == nil || *want.Answer >= 0 || *want.Answer == abi.SampleBiased {
		return nil
	}
	a, b, of := want.Left, got.Left, ""
	if a != nil && a.SHA256 != "" || a != nil && b != nil && b.SHA256 != "" {
		if b == nil {
			return &Difference{Field: "left", Recorded: "a row", Came: "none"}
		}
		if a.SHA256 == "" {
			a = leftRow(a.Logits)
		}
		if b.SHA256 == "" {
			b = &Left{b.IDs, b.Logits, b.Logits.digest()}
		}
		if a.SHA256 == b.SHA256 {
			return nil
		}
		of = " of the row, by logit"
	}
	x, y := want.remaining(a, of != ""), got.remaining(b, of != "")
	show := func(list []Bias, i int) string {
		if i >= len(list) {
			return fmt.Sprintf("none, %d are left", len(list))
		}
		return p.token(list[i].Token) + " with logit " + showLogit(list[i].Amount)
	}
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) || x[i].Token != y[i].Token || !sameLogit(x[i].Amount, y[i].Amount) {
			return &Difference{Field: fmt.Sprintf("candidate %d of those left%s", i+1, of), Recorded: show(x, i), Came: show(y, i)}
		}
	}
	if of == "" {
		return nil
	}
	return &Difference{Field: "digest of the row left", Recorded: a.SHA256, Came: b.SHA256}
}

// remaining returns the candidates that a call leaves, with their logits and in their order.
// Without ids the logits are a whole row. It makes no difference whether a plugin keeps the first
// candidates by its answer or by writing −inf to the others. With a digest all entries count.
func (c *Call) remaining(l *Left, digest bool) (list []Bias) {
	ids, logits := c.IDs, c.Logits
	switch k := abi.SampleEdited - int(*c.Answer); {
	case digest, k == 0 && l != nil:
		ids, logits = l.IDs, l.Logits
	case k > 0 && k <= len(ids):
		ids, logits = ids[:k], logits[:k]
	}
	for i, x := range logits {
		t := Token(i)
		if ids != nil {
			t = ids[i]
		}
		if digest || x != notFinite["-inf"] {
			list = append(list, Bias{t, x})
		}
	}
	return list
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
	return joinShown(list, p.token)
}

func joinShown[T any](list []T, show func(T) string) string {
	var all []string
	for _, x := range list {
		all = append(all, show(x))
	}
	return strings.Join(all, ", ")
}

// showChoices shows what a program wrote: a list, or one for each choice.
func showChoices[T any](c *Call, of func(*Written) [][]T, show func([]T) string) string {
	var all []string
	if c.Written == nil {
		return "none"
	}
	lists := of(c.Written)
	if len(lists) == 1 {
		return show(lists[0])
	}
	for i, list := range lists {
		all = append(all, fmt.Sprintf("choice %d: %s", i, show(list)))
	}
	return strings.Join(all, "; ")
}

// showOptional shows a value that may be missing.
func showOptional[T any](x *T, show func(T) string) string {
	if x == nil {
		return "none"
	}
	return show(*x)
}

func showLogit(x float32) string { return string(appendLogit(nil, x)) }

// sameLogit reports whether two logits are the same number. NaN equals NaN.
func sameLogit(a, b float32) bool { return a == b || a != a && b != b }

// Difference is the first call of a session that came out differently.
type Difference struct {
	Call     int    `json:"call"`     // the call's number in the session, from 1
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
