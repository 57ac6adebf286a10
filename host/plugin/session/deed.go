// SPDX-License-Identifier: MIT

package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Deed is a call of a host function whose answer a player cannot compute: what the plugin gave and
// what it got.
type Deed struct {
	Do      string  `json:"do"` // the import
	Args    []int32 `json:"args,omitempty"`
	Tokens  []Token `json:"tokens,omitempty"`
	Numbers Logits  `json:"numbers,omitempty"`
	Text    *Text   `json:"text,omitempty"`
	SHA256  string  `json:"sha256,omitempty"`

	Answer int32  `json:"answer,omitempty"`
	Got    *Got   `json:"got,omitempty"`
	Error  string `json:"error,omitempty"`
	Fuel   int64  `json:"fuel,omitempty"`
	Added  int64  `json:"added,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// Got is what a plugin got in its memory.
type Got struct {
	Tokens  []Token `json:"tokens,omitempty"`
	Numbers Logits  `json:"numbers,omitempty"`
	Text    *Text   `json:"text,omitempty"`
	Mask    *Mask   `json:"mask,omitempty"`
}

func (g *Got) empty() bool {
	return g.Tokens == nil && g.Numbers == nil && g.Text == nil && g.Mask == nil
}

// got returns what the plugin got in its memory; empty if the file has nothing.
func (d *Deed) got() Got {
	if d.Got == nil {
		return Got{}
	}
	return *d.Got
}

func newDeed(g *plugin.Deed, vocabulary int) Deed {
	d := Deed{Do: g.Import, Args: g.Args, Tokens: g.Tokens, Numbers: g.Numbers, Text: newText(g.Text), SHA256: g.Digest, Answer: g.Answer, Fuel: g.Fuel, Added: g.Added, Failed: g.Failed}
	got := Got{Tokens: g.Gave.Tokens, Numbers: g.Gave.Numbers, Text: newText(g.Gave.Text)}
	if g.Gave.Mask != nil {
		got.Mask = NewMask(g.Gave.Mask, vocabulary)
	}
	if !got.empty() {
		d.Got = &got
	}
	if g.Err != nil {
		d.Error = g.Err.Error()
	}
	return d
}

// newText returns a text to record; nil for an empty one.
func newText(text string) *Text {
	if text == "" {
		return nil
	}
	t := Text(text)
	return &t
}

// isProgram reports whether only programs can make the call.
func (d *Deed) isProgram() bool { return isProgram(d.Do) }

func isProgram(name string) bool {
	s := abi.Import(name)
	return s != nil && slices.Equal(s.In, []string{abi.ExportRun})
}

// stepSize returns what a deed counts in a program's step. It decides where steps end, also in
// files that exist already, so it must not change.
func (d *Deed) stepSize() int {
	size := 256 + 4*(len(d.Args)+len(d.Tokens)+len(d.Numbers)) + len(d.SHA256) + len(textOf(d.Text)) + len(d.Error)
	g := d.got()
	if size += 4*(len(g.Tokens)+len(g.Numbers)) + len(textOf(g.Text)); g.Mask != nil {
		size += 4*(len(g.Mask.Allow)+len(g.Mask.Ban)) + len(g.Mask.Bits)
	}
	return size
}

// replayTo gives a guest that makes the call again the recorded result.
func (d *Deed) replayTo(g *plugin.Deed, vocabulary int) {
	got := d.got()
	g.Answer, g.Fuel, g.Added = d.Answer, d.Fuel, d.Added
	if g.Gave.Tokens, g.Gave.Numbers, g.Gave.Text = got.Tokens, got.Numbers, textOf(got.Text); got.Mask != nil {
		g.Gave.Mask = got.Mask.Words(vocabulary)
	}
}

// check refuses values that no deed can have.
func (d *Deed) check(n int) error {
	s := abi.Import(d.Do)
	switch {
	case s == nil || s.Record == abi.NotRecorded:
		return fmt.Errorf("do: there is no %q that is recorded", d.Do)
	case d.Fuel < 0 || d.Added < 0:
		return errors.New("fuel, added: they are not negative")
	case d.Got == nil && s.Fills == abi.BufferMask && d.Answer == 0 && !d.Failed:
		return errors.New("got.mask: it is missing")
	case d.Got != nil && d.Got.Mask != nil:
		return d.Got.Mask.check(n)
	case d.Got != nil && d.Do == abi.ImportTokenize:
		return checkTokens("got.tokens", d.Got.Tokens, n)
	case !d.Failed && (d.Do == abi.ImportBranchAppend || d.Do == abi.ImportShow):
		return checkTokens("tokens", d.Tokens, n)
	}
	return nil
}

// sameInput reports whether a program gave the same in two deeds.
func (d *Deed) sameInput(as *Deed) bool {
	return d.Do == as.Do && slices.Equal(d.Args, as.Args) && slices.Equal(d.Tokens, as.Tokens) &&
		slices.EqualFunc(d.Numbers, as.Numbers, sameLogit) && d.SHA256 == as.SHA256 && textOf(d.Text) == textOf(as.Text)
}

// show names a deed for the reader.
func (p *Player) show(d *Deed) string {
	var parts []string
	for _, a := range d.Args {
		parts = append(parts, fmt.Sprint(a))
	}
	show := p.token
	if d.Do == abi.ImportBranchesWait || d.Do == abi.ImportBranchMix {
		show = func(branch Token) string { return fmt.Sprint("branch ", branch) }
	}
	for _, t := range d.Tokens[:min(8, len(d.Tokens))] {
		parts = append(parts, show(t))
	}
	if len(d.Tokens) > 8 {
		parts = append(parts, fmt.Sprintf("… %d in all", len(d.Tokens)))
	}
	for _, x := range d.Numbers[:min(8, len(d.Numbers))] {
		parts = append(parts, showLogit(x))
	}
	if d.Text != nil {
		parts = append(parts, fmt.Sprintf("%.80q", textOf(d.Text)))
	}
	if d.SHA256 != "" {
		parts = append(parts, "sha256 "+d.SHA256[:min(12, len(d.SHA256))])
	}
	return d.Do + "(" + strings.Join(parts, ", ") + ")"
}

func textOf(t *Text) string {
	if t == nil {
		return ""
	}
	return string(*t)
}

// Shows returns the tokens that a call of a program showed of a choice.
func (c *Call) Shows(choice int) (tokens []Token) {
	for i := range c.Deeds {
		if d := &c.Deeds[i]; d.Do == abi.ImportShow && !d.Failed && len(d.Args) > 0 && int(d.Args[0]) == choice && d.Answer == 0 {
			tokens = append(tokens, d.Tokens...)
		}
	}
	return tokens
}
