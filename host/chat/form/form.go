// SPDX-License-Identifier: MIT

// Package form brings messages into a form that a model's chat template can say, and makes sure
// that the prompt says all of them.
//
// Templates differ in what they take. What one has no place for, it refuses, or leaves out of the
// prompt without a word: a second system message, a list of parts, the text beside a call. What
// it can say is found by trying it with texts that it cannot know (see [Needs]), never by its name.
// What it says as it stands stays as it stands.
package form

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// Form is a set of changes to messages. The zero value is the messages as they came.
type Form uint32

// The changes, in the order in which they are made.
const (
	shortIDs           Form = 1 << iota // the ids of calls have nine letters and digits, as Mistral's
	namedIDs                            // they have the name of the function, as Kimi's
	oneCallEach                         // a message has one call, and the result follows it
	textBeforeCalls                     // the text beside calls is a message of its own
	textBeforeOldCalls                  // likewise before the user's last message
	userBeforeCalls                     // between the assistant's text and its calls is a user who says nothing
	callsAsText                         // calls are text of the assistant
	resultsAsUser                       // results are text of the user
	joinSystem                          // lists of parts are joined to texts: of system messages
	joinUser                            // of the user's
	joinAssistant                       // of the assistant's
	joinResults                         // of results
	frontSystems                        // system messages at the front are one
	laterSystems                        // later ones are added to the first
	systemsAsUser                       // all are added to the next message of the user
	dropEmpty                           // messages of the assistant that say nothing are left out
	answerResults                       // between a result and the user the assistant says nothing
	beginWithUser                       // a user who says nothing is before the assistant
	haveUser                            // likewise, if there is no user at all
	mergeUsers                          // what the user says twice in a row is one message
	mergeAssistants                     // likewise of the assistant
)

// AsItStands is the form for a template that shows nothing of what a user says, or all of it in
// other words: it decides itself what a prompt is, so nothing is changed and nothing looked for.
const AsItStands Form = 1 << 31

// Sums of changes, each of which has most of those before it.
const (
	noParts   = joinSystem | joinUser | joinAssistant | joinResults
	oneSystem = frontSystems | laterSystems
	turns     = noParts | oneSystem | dropEmpty | haveUser | beginWithUser | mergeUsers | mergeAssistants
	plainOnes = turns | shortIDs | oneCallEach | textBeforeCalls | userBeforeCalls | answerResults
	noCalls   = turns | resultsAsUser | callsAsText
)

// byRisk are changes to try on a template that cannot say messages in the form that it needs: those
// that lose least first, but sums before what few templates need, since a long conversation may
// need several changes and only some forms are tried.
var byRisk = []Form{noParts, oneSystem, turns, shortIDs, plainOnes, noCalls, joinResults, joinUser, joinAssistant, joinSystem, dropEmpty, frontSystems, laterSystems,
	namedIDs, mergeUsers, mergeAssistants, haveUser, beginWithUser, oneCallEach, textBeforeOldCalls, textBeforeCalls, userBeforeCalls, answerResults, systemsAsUser,
	resultsAsUser, callsAsText, resultsAsUser | callsAsText}

// moving are the changes that bring messages into another order.
const moving = oneCallEach | laterSystems | systemsAsUser

// Refused is an error by which a template refuses messages: another form may be taken.
type Refused struct{ Err error }

// Error is the template's error.
func (e Refused) Error() string { return e.Err.Error() }

// Unwrap returns the template's error.
func (e Refused) Unwrap() error { return e.Err }

// Render makes a prompt of messages, and returns its text too. The template's complaint about them
// is a Refused.
type Render[P any] func(ctx context.Context, messages []chat.Message) (_ P, text string, _ error)

// Say renders messages in the form that a template needs, or else in another, so that the text of
// each and all calls are in the prompt. It returns the messages that were rendered. Pictures and
// sounds stay in their order. It calls render no more than most times.
//
// # Errors
//
//   - A [chat.Invalid] names the first text that is in the prompt in no form.
//   - If no form can be said, the error is render's for the form that the template needs. An error
//     of render that is no Refused ends the search.
func Say[P any](ctx context.Context, needs Form, messages []chat.Message, most int, render Render[P]) (prompt P, said []chat.Message, err error) {
	if needs == AsItStands {
		prompt, _, err = render(ctx, messages)
		return prompt, messages, err
	}
	if !needs.keepsMedia(messages) {
		needs &^= moving
	}
	left := most
	counted := func(ctx context.Context, messages []chat.Message) (P, string, error) {
		left--
		return render(ctx, messages)
	}
	var tried [][]chat.Message
	for _, change := range append([]Form{0}, byRisk...) {
		if ctx.Err() != nil {
			return prompt, nil, context.Cause(ctx)
		}
		if left < 2 { // one to render a form, one to confirm it
			break
		}
		form := needs | change
		in := form.apply(messages)
		if isAmong(tried, in) || !form.keepsMedia(messages) {
			continue
		}
		tried = append(tried, in)
		p, text, attempt := counted(ctx, in)
		if attempt == nil && !saysAll(text, in) {
			attempt = confirmPlaces(ctx, form, messages, counted)
		}
		if attempt == nil {
			return p, in, nil
		}
		var lost *chat.Invalid
		if err == nil || !errors.As(err, &lost) && errors.As(attempt, &lost) {
			err = attempt // that a text is lost tells more than why a form is refused
		}
		if !errors.As(attempt, &Refused{}) && !errors.As(attempt, &lost) {
			return p, nil, attempt
		}
	}
	return prompt, nil, err
}

// keepsMedia reports whether a form leaves pictures and sounds in their order: they are given to
// the model in the one that they came in.
func (f Form) keepsMedia(messages []chat.Message) bool {
	if f&moving == 0 || markersOf(messages) < 2 {
		return true
	}
	numbered, n := slices.Clone(messages), 0
	for i := range numbered {
		if m := &numbered[i]; strings.Contains(m.Content, media.Marker) {
			m.Content, m.Parts = markOf(n), nil
			n++
		}
	}
	next := 0
	for _, m := range f.apply(numbered) {
		for number := range marksIn(m.Content) {
			if number != next {
				return false
			}
			next++
		}
	}
	return next == n
}

func isAmong(tried [][]chat.Message, in []chat.Message) bool {
	return slices.ContainsFunc(tried, func(t []chat.Message) bool { return slices.EqualFunc(t, in, isSame) })
}

// isSame reports whether two messages of one conversation are the same to a template.
func isSame(a, b chat.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.Reasoning == b.Reasoning && a.Name == b.Name && a.ToolCallID == b.ToolCallID &&
		(a.Parts == nil) == (b.Parts == nil) && slices.Equal(a.Parts, b.Parts) && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// confirmPlaces renders a form with marks in the place of texts, which shows whether the template
// has a place for each: it may write a text in another way than it came, such as within JSON.
func confirmPlaces[P any](ctx context.Context, form Form, messages []chat.Message, render Render[P]) error {
	marked, pieces := markTexts(messages)
	_, text, err := render(ctx, form.apply(marked))
	if err != nil {
		return err
	}
	if lost := firstMissing(text, len(pieces)); lost >= 0 {
		p := pieces[lost]
		return noPlace(p.field, strconv.Quote(excerpt.Of(strings.TrimSpace(p.text), 40)))
	}
	first := slices.IndexFunc(messages, func(m chat.Message) bool { return strings.Contains(m.Content, media.Marker) })
	if first >= 0 && strings.Count(text, media.Marker) < markersOf(messages) {
		return noPlace(cmp.Or(messages[first].Field, fmt.Sprintf("messages[%d].content", first)), "this picture or sound, or one that follows,")
	}
	return nil
}

func noPlace(field, what string) error {
	return &chat.Invalid{Field: field, Reason: what + " is not in the prompt that the model's chat template makes, in any form that was tried: the template has no place for it"}
}

// String names the changes.
func (f Form) String() string {
	var names []string
	for _, c := range changes {
		if f&c.form != 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

// saysAll reports whether a prompt has the texts of messages in their order, and a marker for each
// picture and sound. It is quick, and may be wrong about texts that a template writes in another
// way; for each of those and all behind it the answer is no.
func saysAll(prompt string, messages []chat.Message) bool {
	r := reader{rest: prompt, most: scans * (len(prompt) + 1), inJSON: map[string]bool{}}
	for _, m := range messages {
		for _, text := range textsOf(m) {
			if !r.find(strings.TrimSpace(text), m.Role) {
				return false
			}
		}
	}
	markers := markersOf(messages)
	return markers == 0 || strings.Count(prompt, media.Marker) >= markers
}

// scans is how often a prompt may be searched from end to end: it bounds the time for texts that
// are not found as they came.
const scans = 8

// reader finds texts in what is left of a prompt: without the white space around them, which many
// templates trim, or within JSON.
type reader struct {
	rest   string
	most   int             // bytes that may be searched yet
	inJSON map[string]bool // by roles: the last text was found there
}

func (r *reader) find(text, role string) bool {
	if r.skip(text, r.inJSON[role]) {
		return true
	}
	if !r.skip(text, !r.inJSON[role]) {
		return false
	}
	r.inJSON[role] = !r.inJSON[role]
	return true
}

// skip goes on behind a text, if it is there.
func (r *reader) skip(text string, inJSON bool) bool {
	if r.most < 0 {
		return false
	}
	if inJSON {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(text) // a text has no error
		text = b.String()[1 : b.Len()-len("\"\n")]
	}
	at := strings.Index(r.rest, text)
	if at < 0 {
		r.most -= len(r.rest)
		return false
	}
	r.rest = r.rest[at+len(text):]
	return true
}

// markersOf is how many pictures and sounds messages have.
func markersOf(messages []chat.Message) (n int) {
	for _, m := range messages {
		n += strings.Count(m.Content, media.Marker)
	}
	return n
}

// textsOf lists what a template has to say of a message. The arguments of calls are not among them:
// most templates write those in a notation of their own.
func textsOf(m chat.Message) (out []string) {
	if m.Parts == nil {
		out = strings.Split(m.Content, media.Marker)
	} else {
		out = slices.DeleteFunc(slices.Clone(m.Parts), func(p string) bool { return p == media.Marker })
	}
	for _, c := range m.ToolCalls {
		out = append(out, c.Function.Name)
	}
	return out
}

// piece is what a template must say: a text of a message, or a call.
type piece struct {
	field string
	text  string
}

// A mark is a word that no template and no conversation has.
const (
	markBegin = "zqmark"
	markEnd   = "qz"
)

func markOf(number int) string { return markBegin + strconv.Itoa(number) + markEnd }

// marksIn finds the numbers of the marks in a text.
func marksIn(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for {
			_, behind, ok := strings.Cut(text, markBegin)
			if !ok {
				return
			}
			number, _, _ := strings.Cut(behind[:min(len(behind), 24)], markEnd)
			if n, err := strconv.Atoi(number); err == nil && !yield(n) {
				return
			}
			text = behind
		}
	}
}

// markTexts copies messages with a mark for each text, which is the number of its piece.
// Reasoning has none, since templates may leave that of earlier answers out.
func markTexts(messages []chat.Message) (marked []chat.Message, pieces []piece) {
	add := func(text, field string) string {
		if strings.TrimSpace(text) == "" {
			return text
		}
		pieces = append(pieces, piece{field, text})
		return markOf(len(pieces) - 1)
	}
	marked = slices.Clone(messages)
	for i := range marked {
		m := &marked[i]
		place := fmt.Sprintf("messages[%d]", i)
		if m.Parts != nil {
			m.Parts = slices.Clone(m.Parts)
			for k, part := range m.Parts {
				if part != media.Marker {
					m.Parts[k] = add(part, cmp.Or(m.Field, fmt.Sprintf("%s.content[%d]", place, k)))
				}
			}
			m.Content = media.Join(m.Parts)
		} else {
			between := strings.Split(m.Content, media.Marker)
			for k := range between {
				between[k] = add(between[k], cmp.Or(m.Field, place+".content"))
			}
			m.Content = strings.Join(between, media.Marker)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k := range m.ToolCalls {
			f := &m.ToolCalls[k].Function
			written, field := f.Name+" "+f.Arguments, cmp.Or(m.Field, fmt.Sprintf("%s.tool_calls[%d]", place, k))
			f.Name = add(written, field)
			if strings.HasPrefix(strings.TrimSpace(f.Arguments), "{") && json.Valid([]byte(f.Arguments)) {
				f.Arguments = `{"q": "` + add(written, field) + `"}`
			}
		}
	}
	return marked, pieces
}

// firstMissing finds the first piece whose mark is not in the prompt; -1: all are.
func firstMissing(prompt string, pieces int) int {
	seen := make([]bool, pieces)
	for n := range marksIn(prompt) {
		if n >= 0 && n < pieces {
			seen[n] = true
		}
	}
	return slices.Index(seen, false)
}

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
		marked, pieces := markTexts(p.messages)
		in := form.apply(marked)
		text, err := render(ctx, in)
		return err == nil && firstMissing(text, len(pieces)) < 0 && !showsLists(text) && !(p.foreignID && namesNoCall(text, in))
	}
	plain, pieces := markTexts([]chat.Message{asks})
	if text, err := render(ctx, plain); err == nil && firstMissing(text, len(pieces)) >= 0 {
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
