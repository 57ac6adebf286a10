// SPDX-License-Identifier: MIT

package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
)

// Deed is a call of a function of programs: what the program gave, and what it got.
type Deed struct {
	Do      string  `json:"do"` // the import
	Args    []int32 `json:"args,omitempty"`
	Tokens  []Token `json:"tokens,omitempty"`
	Numbers Logits  `json:"numbers,omitempty"`
	Text    *Text   `json:"text,omitempty"`
	SHA256  string  `json:"sha256,omitempty"`

	Answer int32 `json:"answer,omitempty"`
	Got    *Got  `json:"got,omitempty"`
	Fuel   int64 `json:"fuel,omitempty"`
	Added  int64 `json:"added,omitempty"`
	Failed bool  `json:"failed,omitempty"`
}

// Got is what a program got in its memory.
type Got struct {
	Tokens  []Token `json:"tokens,omitempty"`
	Numbers Logits  `json:"numbers,omitempty"`
	Text    *Text   `json:"text,omitempty"`
}

func deedOf(g *guest.Deed) Deed {
	d := Deed{Do: g.Import, Args: g.Args, Tokens: g.Tokens, Numbers: g.Numbers, SHA256: g.Digest, Answer: g.Answer, Fuel: g.Fuel, Added: g.Added, Failed: g.Failed}
	if g.Text != "" {
		text := Text(g.Text)
		d.Text = &text
	}
	if got := g.Gave; got.Tokens != nil || got.Numbers != nil || got.Text != "" {
		d.Got = &Got{Tokens: got.Tokens, Numbers: got.Numbers}
		if got.Text != "" {
			text := Text(got.Text)
			d.Got.Text = &text
		}
	}
	return d
}

// answer gives a guest that does the same once more what came of it.
func (d *Deed) answer(g *guest.Deed) {
	g.Answer, g.Fuel, g.Added = d.Answer, d.Fuel, d.Added
	if d.Got != nil {
		g.Gave.Tokens, g.Gave.Numbers = d.Got.Tokens, d.Got.Numbers
		if d.Got.Text != nil {
			g.Gave.Text = string(*d.Got.Text)
		}
	}
}

// size is about how many bytes a deed has in memory.
func (d *Deed) size() int {
	size := 256 + 4*(len(d.Args)+len(d.Tokens)+len(d.Numbers)) + len(d.SHA256)
	if d.Text != nil {
		size += len(*d.Text)
	}
	if d.Got != nil {
		size += 4 * (len(d.Got.Tokens) + len(d.Got.Numbers))
		if d.Got.Text != nil {
			size += len(*d.Got.Text)
		}
	}
	return size
}

// check looks for what no deed can have.
func (d *Deed) check(n int) error {
	if !guest.IsDeed(d.Do) {
		return fmt.Errorf("do: there is no %q that programs do", d.Do)
	}
	if d.Fuel < 0 || d.Added < 0 {
		return errors.New("fuel, added: they are not negative")
	}
	if !d.Failed && (d.Do == abi.ImportBranchAppend || d.Do == abi.ImportShow) {
		return checkTokens("tokens", d.Tokens, n)
	}
	return nil
}

// differs shows two deeds of which the program has not given the same; empty: it has.
func (p *Player) differs(want, got *Deed) (recorded, came string) {
	same := want.Do == got.Do && slices.Equal(want.Args, got.Args) && slices.Equal(want.Tokens, got.Tokens) &&
		slices.EqualFunc(want.Numbers, got.Numbers, same) && want.SHA256 == got.SHA256 && textOf(want.Text) == textOf(got.Text)
	if same {
		return "", ""
	}
	return p.show(want), p.show(got)
}

// show names a deed for the reader.
func (p *Player) show(d *Deed) string {
	var parts []string
	for _, a := range d.Args {
		parts = append(parts, fmt.Sprint(a))
	}
	for i, t := range d.Tokens {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("… %d in all", len(d.Tokens)))
			break
		}
		if d.Do == abi.ImportBranchesWait || d.Do == abi.ImportBranchMix {
			parts = append(parts, fmt.Sprint("branch ", t))
		} else {
			parts = append(parts, p.token(t))
		}
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

// shows are the tokens that a call of a program has shown of a choice.
func (c *Call) shows(choice int) (tokens []Token) {
	for i := range c.Deeds {
		if d := &c.Deeds[i]; d.Do == abi.ImportShow && !d.Failed && len(d.Args) > 0 && int(d.Args[0]) == choice && d.Answer == 0 {
			tokens = append(tokens, d.Tokens...)
		}
	}
	return tokens
}
