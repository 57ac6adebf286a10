// SPDX-License-Identifier: MIT

package tck

import "strings"

// build turns drafts into a case, and names it after the first.
func build(rule string, want Want, drafts ...*draft) Case {
	c := Case{Name: strings.TrimPrefix(drafts[0].name, "tck-"), Rule: rule, Want: want}
	for _, d := range drafts {
		c.Modules = append(c.Modules, d.module())
	}
	return c
}

// unchanged is a case whose answer is the one without plugins.
func unchanged(rule string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length", Text: Same}, drafts...)
}

// answered is a case whose answer has all its tokens, whatever they are.
func answered(rule string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: MaxTokens, Reason: "length"}, drafts...)
}

// stopped is a case whose answer ends after so many tokens.
func stopped(rule string, tokens int, text Text, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Answered, Tokens: tokens, Reason: "stop", Text: text}, drafts...)
}

// faulted is a case that ends with the fault of the last plugin; the error names it, the export
// and the cause.
func faulted(rule, export, cause string, drafts ...*draft) Case {
	last := drafts[len(drafts)-1].name
	return build(rule, Want{Outcome: Faulted, Error: []string{"plugin " + last, export, cause}}, drafts...)
}

// declined is a case whose request is refused, with an error that has these words.
func declined(rule, words string, drafts ...*draft) Case {
	return build(rule, Want{Outcome: Declined, Error: []string{words}}, drafts...)
}

// refused is a case whose last module is not loaded.
func refused(rule string, d *draft, words ...string) Case {
	return build(rule, Want{Outcome: Refused, Error: words}, d)
}

// refusedBytes is refused for bytes that are not a draft's.
func refusedBytes(name, rule string, wasm []byte, words ...string) Case {
	return Case{Name: name, Rule: rule, Modules: []Module{{"tck-" + name, "tck-" + name + ".wasm", wasm}}, Want: Want{Outcome: Refused, Error: words}}
}

// in is the case with another request.
func (c Case) in(r Request) Case {
	c.Request = r
	return c
}

// Cases are all cases: those of Rules, then those of Hostile.
func Cases() []Case { return append(Rules(), Hostile()...) }
