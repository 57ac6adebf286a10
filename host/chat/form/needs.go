// SPDX-License-Identifier: MIT

package form

import (
	"context"
	"strings"

	"github.com/penstock/penstock/host/chat"
)

// probe is a conversation of a kind, and the changes to try in turn if a template cannot say it.
// Its texts are marks when it is tried.
type probe struct {
	messages  []chat.Message
	remedies  []Form
	foreignID bool // the last message is a result of a call that another model made
}

var (
	asks    = said(user)
	answers = said(assistant)
	told    = said(system)
	calls   = chat.Message{Role: assistant, ToolCalls: []chat.ToolCall{call("call00001")}}
	gives   = gave("call00001")
)

func said(role string) chat.Message { return chat.Message{Role: role, Content: "x"} }
func call(id string) chat.ToolCall  { return chat.NewToolCall(id, "x", `{"q": "x"}`) }
func gave(id string) chat.Message {
	return chat.Message{Role: result, Content: "x", ToolCallID: id}
}

func inParts(m chat.Message) chat.Message {
	m.Parts = []string{"x", "x"}
	return m
}

func beside(m chat.Message) chat.Message {
	m.Content = "x"
	return m
}

// probes are in such an order that the remedy of one serves those that follow.
var probes = []probe{
	{[]chat.Message{inParts(asks)}, []Form{joinUser}, false},
	{[]chat.Message{asks, inParts(answers), asks}, []Form{joinAssistant}, false},
	{[]chat.Message{told, asks}, []Form{systemsAsUser}, false},
	{[]chat.Message{inParts(told), asks}, []Form{joinSystem}, false},
	{[]chat.Message{asks, asks}, []Form{mergeUsers}, false},
	{[]chat.Message{asks, answers, answers, asks}, []Form{mergeAssistants}, false},
	{[]chat.Message{asks, {Role: assistant}, asks}, []Form{dropEmpty, dropEmpty | mergeUsers}, false},
	{[]chat.Message{told, told, asks}, []Form{frontSystems, systemsAsUser}, false},
	{[]chat.Message{told, said(developer), asks}, []Form{frontSystems, systemsAsUser}, false},
	{[]chat.Message{told, asks, answers, told, asks}, []Form{laterSystems, systemsAsUser}, false},
	{[]chat.Message{asks, answers, said(developer), asks}, []Form{laterSystems, systemsAsUser}, false},
	{[]chat.Message{told, asks, told}, []Form{laterSystems, systemsAsUser}, false},
	{[]chat.Message{answers, asks}, []Form{beginWithUser}, false},
	{[]chat.Message{told, answers}, []Form{haveUser, beginWithUser}, false},
	{[]chat.Message{asks, calls, gives, answers, asks}, []Form{callsAsText, resultsAsUser, resultsAsUser | callsAsText}, false},
	{[]chat.Message{asks, calls, gives}, []Form{callsAsText, resultsAsUser, resultsAsUser | callsAsText}, false},
	{[]chat.Message{asks, {Role: assistant, ToolCalls: []chat.ToolCall{call("call_PTLP8xhu3uwZk4l3nlnrrJha")}}, gave("call_PTLP8xhu3uwZk4l3nlnrrJha")},
		[]Form{shortIDs, namedIDs}, true},
	{[]chat.Message{asks, calls, inParts(gives)}, []Form{joinResults}, false},
	{[]chat.Message{asks, beside(calls), gives}, []Form{textBeforeCalls, callsAsText}, false},
	{[]chat.Message{asks, beside(calls), gives, answers, asks}, []Form{textBeforeOldCalls, userBeforeCalls, textBeforeOldCalls | userBeforeCalls, callsAsText}, false},
	{[]chat.Message{asks, {Role: assistant, ToolCalls: []chat.ToolCall{call("call00001"), call("call00002")}}, gives, gave("call00002"), answers, asks},
		[]Form{oneCallEach, callsAsText, resultsAsUser | callsAsText}, false},
	{[]chat.Message{asks, calls, gives, asks}, []Form{answerResults}, false},
	{[]chat.Message{told, calls, gives}, []Form{haveUser, beginWithUser}, false},
	{[]chat.Message{calls, gives, asks}, []Form{beginWithUser, beginWithUser | answerResults}, false},
}

// Needs finds the form in which a template can say conversations of every kind, by trying it. What
// was not tried before ctx is done counts as what the template can say.
//
// Kinds that a template says in no form have no remedy: such conversations are refused when they
// come.
func Needs(ctx context.Context, render func(ctx context.Context, messages []chat.Message) (string, error)) Form {
	var needs Form
	says := func(form Form, p probe) bool {
		marked, pieces := mark(p.messages)
		in := form.apply(marked)
		text, err := render(ctx, in)
		return err == nil && missing(text, len(pieces)) < 0 && !showsLists(text) && !(p.foreignID && namesNoCall(text, in))
	}
	plain, pieces := mark([]chat.Message{asks})
	if text, err := render(ctx, plain); err == nil && missing(text, len(pieces)) >= 0 {
		return AsItStands
	}
	for _, p := range probes {
		if says(needs, p) {
			continue
		}
		for _, remedy := range p.remedies {
			if ctx.Err() == nil && says(needs|remedy, p) {
				needs |= remedy
				break
			}
		}
	}
	return needs
}

// namesNoCall reports whether the result has the id of a call in the prompt, but the call another:
// the template writes ids of its own there.
func namesNoCall(prompt string, messages []chat.Message) bool {
	return strings.Count(prompt, messages[len(messages)-1].ToolCallID) == 1
}

// showsLists reports whether a prompt has parts as Python or JSON writes them: the template takes a
// list for a text.
func showsLists(prompt string) bool {
	for _, quote := range []string{"'", `"`} {
		for _, space := range []string{" ", ""} {
			if strings.Contains(prompt, quote+"type"+quote+":"+space+quote+"text"+quote) {
				return true
			}
		}
	}
	return false
}
