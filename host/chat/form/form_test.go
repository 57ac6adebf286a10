// SPDX-License-Identifier: MIT

package form

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// shown writes messages as a template may: roles by their first letter, and all texts.
func shown(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%c(%s", m.Role[0], m.Content)
		if m.Parts != nil {
			fmt.Fprintf(&b, "|%s", strings.Join(m.Parts, "|"))
		}
		if m.Reasoning != "" {
			fmt.Fprintf(&b, "~%s", m.Reasoning)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "#%s %s %s", c.ID, c.Function.Name, c.Function.Arguments)
		}
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, "=%s", m.ToolCallID)
		}
		b.WriteString(")")
	}
	return b.String()
}

func says(role, text string) chat.Message { return chat.Message{Role: role, Content: text} }
func returns(id, text string) chat.Message {
	return chat.Message{Role: result, Content: text, ToolCallID: id}
}

func calling(text string, ids ...string) chat.Message {
	m := says(assistant, text)
	for i, id := range ids {
		m.ToolCalls = append(m.ToolCalls, chat.NewToolCall(id, "f"+string(rune('a'+i)), "{}"))
	}
	return m
}

func TestForm_Apply(t *testing.T) {
	listed := chat.Message{Role: user, Content: "a\nb", Parts: []string{"a", "b"}}
	for name, c := range map[string]struct {
		form Form
		in   []chat.Message
		want string
	}{
		"ids of nine stay":            {shortIDs, []chat.Message{calling("", "abcdef123"), returns("abcdef123", "r")}, "a(#abcdef123 fa {})t(r=abcdef123)"},
		"other ids":                   {shortIDs, []chat.Message{calling("", "call_1"), returns("call_1", "r"), returns("call_9", "s")}, "a(#OQMW7ZZOJ fa {})t(r=OQMW7ZZOJ)t(s=LZCH6WOVI)"},
		"no ids":                      {shortIDs, []chat.Message{calling("", "", ""), returns("", "r"), returns("", "s")}, "a(#L7WOWZX7Z fa {}#NODLE477G fb {})t(r=L7WOWZX7Z)t(s=NODLE477G)"},
		"named ids":                   {namedIDs, []chat.Message{calling("", "x", "y"), returns("y", "r"), returns("x", "s")}, "a(#functions.fa:0 fa {}#functions.fb:1 fb {})t(r=functions.fb:1)t(s=functions.fa:0)"},
		"one call each, out of order": {oneCallEach, []chat.Message{calling("t", "x", "y"), returns("y", "r"), returns("x", "s"), returns("z", "u"), says(user, "v")}, "a(t#x fa {})t(s=x)a(#y fb {})t(r=y)t(u=z)u(v)"},
		"text before calls":           {textBeforeCalls, []chat.Message{{Role: assistant, Content: "t", Reasoning: "r", ToolCalls: calling("", "x").ToolCalls}}, "a(t~r)a(#x fa {})"},
		"text before old calls":       {textBeforeOldCalls, []chat.Message{calling("t", "x"), says(user, "u"), calling("v", "y")}, "a(t)a(#x fa {})u(u)a(v#y fa {})"},
		"a user before calls":         {textBeforeCalls | userBeforeCalls, []chat.Message{calling("t", "x")}, "a(t)u()a(#x fa {})"},
		"calls as text":               {callsAsText, []chat.Message{calling("t", "x")}, "a(t\n<tool_call>\n{\"name\": \"fa\", \"arguments\": {}}\n</tool_call>)"},
		"results as user":             {resultsAsUser, []chat.Message{returns("x", "r")}, "u(<tool_response>\nr\n</tool_response>)"},
		"parts joined":                {joinUser, []chat.Message{listed}, "u(a\nb)"},
		"parts of others":             {joinAssistant | joinSystem | joinResults, []chat.Message{listed}, "u(a\nb|a|b)"},
		"front systems":               {frontSystems, []chat.Message{says(system, "a"), says(developer, "b"), says(user, "u"), says(system, "c")}, "s(a\n\nb)u(u)s(c)"},
		"later systems":               {laterSystems, []chat.Message{says(system, "a"), says(user, "u"), says(developer, "b"), says(system, "c")}, "s(a\n\nb\n\nc)u(u)"},
		"later systems, none first":   {laterSystems, []chat.Message{says(user, "u"), says(developer, "b")}, "s(b)u(u)"},
		"no later systems":            {laterSystems, []chat.Message{says(system, "a"), says(system, "b"), says(user, "u")}, "s(a)s(b)u(u)"},
		"only systems":                {laterSystems | haveUser, []chat.Message{says(system, "a")}, "s(a)u()"},
		"systems as user":             {systemsAsUser, []chat.Message{says(system, "a"), says(assistant, "b"), listed, says(system, "c"), says(assistant, "d")}, "a(b)u(a\n\na\nb|a|a|b)u(c)a(d)"},
		"no empty answer":             {dropEmpty, []chat.Message{says(assistant, " "), {Role: assistant, Reasoning: "r"}, says(assistant, "")}, "a(~r)a()"},
		"answered results":            {answerResults, []chat.Message{calling("", "x"), returns("x", "r"), says(user, "u")}, "a(#x fa {})t(r=x)a()u(u)"},
		"user first":                  {beginWithUser, []chat.Message{says(system, "s"), says(assistant, "a"), says(assistant, "b")}, "s(s)u()a(a)a(b)"},
		"user is first":               {beginWithUser, []chat.Message{says(user, "u"), says(assistant, "a")}, "u(u)a(a)"},
		"merged":                      {mergeUsers | mergeAssistants, []chat.Message{says(user, "a"), listed, says(assistant, "b"), {Role: assistant, Content: "c", Reasoning: "r"}, calling("", "x")}, "u(a\n\na\nb|a|a|b)a(b\n\nc~r)a(#x fa {})"},
	} {
		t.Run(name, func(t *testing.T) {
			before := shown(c.in)
			if got := shown(c.form.apply(c.in)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if after := shown(c.in); after != before {
				t.Errorf("what was given is %s now", after)
			}
		})
	}
}

// strict is a template that takes one system message, texts only, and a user and an assistant in
// turn, each of whose texts write writes.
func strict(write func(string) string) Render[string] {
	return func(_ context.Context, messages []chat.Message) (string, string, error) {
		var out strings.Builder
		for i, m := range messages {
			turn := messages[0].Role == system && i%2 == 1 || messages[0].Role != system && i%2 == 0
			switch {
			case isSystem(m) && i > 0:
				continue // without a word
			case m.Parts != nil, i > 0 && (m.Role == user) != turn:
				return "", "", Refused{errors.New("no")}
			}
			fmt.Fprintf(&out, "<%s>%s", m.Role, write(m.Content))
		}
		return "p", out.String(), nil
	}
}

func as(text string) string { return text }

func TestSay(t *testing.T) {
	upper := func(text string) string {
		if strings.Contains(text, markBegin) {
			return text
		}
		return strings.ToUpper(text)
	}
	for name, c := range map[string]struct {
		needs  Form
		in     []chat.Message
		render Render[string]
		want   string
	}{
		"as it stands":                      {0, []chat.Message{says(system, "a"), says(user, "b")}, strict(as), "s(a)u(b)"},
		"trimmed":                           {0, []chat.Message{says(user, " b\n")}, strict(strings.TrimSpace), "u( b\n)"},
		"within JSON":                       {0, []chat.Message{says(user, "b\n\"<c>\"")}, strict(func(s string) string { return strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) }), "u(b\n\"<c>\")"},
		"written in a way that none knows":  {0, []chat.Message{says(user, "bcd")}, strict(upper), "u(bcd)"},
		"as it needs":                       {frontSystems, []chat.Message{says(system, "a"), says(system, "b"), says(user, "c")}, strict(as), "s(a\n\nb)u(c)"},
		"lost, and not needed so far":       {0, []chat.Message{says(system, "a"), says(system, "b"), says(user, "c")}, strict(as), "s(a\n\nb)u(c)"},
		"lost, and the next one's text":     {0, []chat.Message{says(system, "a"), says(user, "be brief"), says(assistant, "b"), says(system, "be brief"), says(user, "be brief")}, strict(as), "s(a\n\nbe brief)u(be brief)a(b)u(be brief)"},
		"two things to change, and a third": {0, []chat.Message{says(system, "a"), says(system, "b"), says(user, "c"), {Role: user, Content: "d", Parts: []string{"d"}}}, strict(as), "s(a\n\nb)u(c\n\nd)"},
		"what is only white space":          {0, []chat.Message{says(user, "\n")}, strict(func(string) string { return "" }), "u(\n)"},
	} {
		t.Run(name, func(t *testing.T) {
			p, said, err := Say(t.Context(), c.needs, c.in, 32, c.render)
			if err != nil || p != "p" || shown(said) != c.want {
				t.Errorf("%q, %s, %v", p, shown(said), err)
			}
		})
	}
}

// What is in the prompt in no form is named, and what a template refuses in all is its own word.
func TestSay_Refused(t *testing.T) {
	dropped := func(_ context.Context, messages []chat.Message) (string, string, error) {
		if len(messages) > 3 {
			return "", "", Refused{errors.New("too many")}
		}
		return "p", messages[0].Content, nil
	}
	for name, c := range map[string]struct {
		in          []chat.Message
		render      Render[string]
		field, says string
	}{
		"a text":                 {[]chat.Message{says(user, "a"), says(assistant, " lost words ")}, dropped, "messages[1].content", `"lost words" is not in the prompt`},
		"a part":                 {[]chat.Message{says(user, "a"), {Role: assistant, Content: "a\nb", Parts: []string{"a", "b"}}}, dropped, "messages[1].content[0]", `"a"`},
		"the text of others":     {[]chat.Message{says(user, "a lost a lost"), says(assistant, "lost"), says(user, "lost")}, dropped, "messages[1].content", `"lost"`},
		"a field of another API": {[]chat.Message{says(user, "a"), {Role: assistant, Content: "b", Field: "input[3]"}}, dropped, "input[3]", `"b"`},
		"a call":                 {[]chat.Message{says(user, "a"), calling("", "x")}, dropped, "messages[1].tool_calls[0]", `"fa {}"`},
		"a picture": {[]chat.Message{says(user, "a"), {Role: user, Content: "b" + media.Marker}}, func(_ context.Context, ms []chat.Message) (string, string, error) {
			return "p", strings.ReplaceAll(shown(ms), media.Marker, ""), nil
		}, "messages[1].content", "this picture"},
	} {
		_, _, err := Say(t.Context(), 0, c.in, 32, c.render)
		var invalid *chat.Invalid
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.Contains(invalid.Reason, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refusing := func(context.Context, []chat.Message) (string, string, error) {
		return "", "", Refused{errors.New("no frogs")}
	}
	if _, _, err := Say(t.Context(), 0, []chat.Message{says(user, "a")}, 32, refusing); err == nil || err.Error() != "no frogs" {
		t.Error(err)
	}
	calls := 0
	failing := func(context.Context, []chat.Message) (string, string, error) {
		calls++
		return "", "", errors.New("out of memory")
	}
	if _, _, err := Say(t.Context(), 0, []chat.Message{says(user, "a"), says(user, "b")}, 32, failing); err == nil || calls != 1 {
		t.Error(err, calls)
	}
}

// Pictures stay in the order in which they came, whatever a template needs.
func TestSay_PicturesStayInOrder(t *testing.T) {
	shows := func(role, text string) chat.Message { return says(role, media.Marker+text) }
	showing := func(id, text string) chat.Message {
		return chat.Message{Role: result, Content: media.Marker + text, ToolCallID: id}
	}
	takesAll := func(_ context.Context, ms []chat.Message) (string, string, error) { return "p", shown(ms), nil }
	for name, c := range map[string]struct {
		needs  Form
		in     []chat.Message
		render Render[string]
		want   string
	}{
		"later systems":             {0, []chat.Message{shows(user, "1"), says(assistant, "a"), shows(system, "2"), says(user, "u")}, strict(as), "u(1)a(a)u(2\n\nu)"},
		"later systems, needed":     {laterSystems, []chat.Message{shows(user, "1"), says(assistant, "a"), shows(system, "2"), says(user, "u")}, strict(as), "u(1)a(a)u(2\n\nu)"},
		"later systems, no swap":    {laterSystems, []chat.Message{says(user, "u"), says(assistant, "a"), shows(system, "1"), shows(user, "2")}, takesAll, "s(1)u(u)a(a)u(2)"},
		"results in another order":  {oneCallEach, []chat.Message{calling("", "x", "y"), showing("y", "1"), showing("x", "2")}, takesAll, "a(#x fa {}#y fb {})t(1=y)t(2=x)"},
		"results in their order":    {oneCallEach, []chat.Message{calling("", "x", "y"), showing("x", "1"), showing("y", "2")}, takesAll, "a(#x fa {})t(1=x)a(#y fb {})t(2=y)"},
		"a system before an answer": {systemsAsUser, []chat.Message{shows(system, "1"), shows(assistant, "2"), shows(user, "3")}, takesAll, "s(1)a(2)u(3)"},
	} {
		p, said, err := Say(t.Context(), c.needs, c.in, 32, c.render)
		if got := strings.ReplaceAll(shown(said), media.Marker, ""); err != nil || p != "p" || got != c.want {
			t.Errorf("%s: %q, %s, %v", name, p, got, err)
		}
	}
}

// There is a bound on renderings, and what needs many changes is said within a small one.
func TestSay_Bounded(t *testing.T) {
	parts := func(role, text string) chat.Message {
		return chat.Message{Role: role, Content: text, Parts: []string{text}}
	}
	in := []chat.Message{parts(system, "a"), says(system, "b"), parts(user, "c"), says(user, "d"), parts(assistant, "e"), says(assistant, "f"), says(system, "g"), calling("h", "x", "y"),
		returns("y", "i"), returns("x", "j"), says(user, "k"), says(assistant, ""), says(user, "l")}
	rendered := 0
	counting := func(render Render[string]) Render[string] {
		rendered = 0
		return func(ctx context.Context, ms []chat.Message) (string, string, error) {
			rendered++
			return render(ctx, ms)
		}
	}
	for name, render := range map[string]Render[string]{
		"refusing": func(context.Context, []chat.Message) (string, string, error) {
			return "", "", Refused{errors.New("no")}
		},
		"losing": func(context.Context, []chat.Message) (string, string, error) { return "p", "", nil },
	} {
		for _, most := range []int{8, 32} {
			if _, _, err := Say(t.Context(), 0, in, most, counting(render)); err == nil || rendered < 7 || rendered > most {
				t.Errorf("%s: %d of %d renderings, %v", name, rendered, most, err)
			}
		}
	}
	_, said, err := Say(t.Context(), 0, in[:7], 8, counting(strict(as)))
	if want := "s(a\n\nb\n\ng)u(c\n\nd)a(e\n\nf)"; err != nil || shown(said) != want {
		t.Errorf("%s after %d renderings, %v; want %s", shown(said), rendered, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Say(ctx, 0, in, 32, counting(strict(as))); !errors.Is(err, context.Canceled) || rendered != 0 {
		t.Error(err, rendered)
	}
}

// What a template needs is found by trying it.
func TestNeeds(t *testing.T) {
	render := func(write func([]chat.Message) (string, error)) Form {
		return Needs(t.Context(), func(_ context.Context, messages []chat.Message) (string, error) { return write(messages) })
	}
	if got := render(func(ms []chat.Message) (string, error) { return shown(ms), nil }); got != 0 {
		t.Error("one that says all:", got)
	}
	if got := render(func([]chat.Message) (string, error) { return "", errors.New("no") }); got != 0 {
		t.Error("one that says nothing:", got)
	}
	listing := func(ms []chat.Message) (string, error) {
		if i := slices.IndexFunc(ms, func(m chat.Message) bool { return m.Role == result && m.Parts != nil }); i >= 0 {
			return shown(ms) + "{'type': 'text', 'text': '" + ms[i].Parts[0] + "'}", nil
		}
		return shown(ms), nil
	}
	if got := render(listing); got != joinResults {
		t.Error("one that writes lists as Python does:", got)
	}
	noSystem := func(ms []chat.Message) (string, error) {
		if slices.ContainsFunc(ms, isSystem) {
			return "", errors.New("no system")
		}
		return shown(ms), nil
	}
	if got := render(noSystem); got != systemsAsUser {
		t.Error("one without a system:", got)
	}
	turns := func(ms []chat.Message) (string, error) {
		_, text, err := strict(as)(t.Context(), ms)
		return text, err
	}
	const want = "calls as text, results as user, system joined, user joined, assistant joined, front systems, later systems, user first, users merged, assistants merged"
	if got := render(turns).String(); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// The check takes as long as the conversation is, whatever the template makes of the texts.
func TestSay_Linear(t *testing.T) {
	quote := func(text string) string { return strconv.Quote(text) }
	for name, write := range map[string]func(role, text string) string{
		"as they came": func(_, text string) string { return text },
		"within JSON":  func(_, text string) string { return quote(text) },
		"by turns": func(_, text string) string {
			if strings.HasSuffix(text, "1") {
				return text
			}
			return quote(text)
		},
		"in another way": func(_, text string) string { return strings.ReplaceAll(text, "\n", "<br>") },
	} {
		cost := func(n int) time.Duration {
			messages := make([]chat.Message, n)
			for i := range messages {
				messages[i] = says([]string{user, assistant}[i%2], "a \"text\"\nof "+strconv.Itoa(i))
			}
			var prompt, marked strings.Builder
			in, _ := markTexts(messages)
			for i, m := range messages {
				prompt.WriteString(write(m.Role, m.Content))
				marked.WriteString(in[i].Content)
			}
			return steadytest.Cost(t, func() {
				must.Both(Say(t.Context(), 0, messages, 32, func(_ context.Context, ms []chat.Message) (string, string, error) {
					if strings.HasPrefix(ms[0].Content, markBegin) {
						return "p", marked.String(), nil
					}
					return "p", prompt.String(), nil
				}))(t)
			})
		}
		const times = 8
		if few, many := cost(2500), cost(2500*times); many > 3*times*few {
			t.Errorf("%s: %v for %d times what takes %v", name, many, times, few)
		}
	}
}

func TestForm_String(t *testing.T) {
	if got := (frontSystems | mergeUsers).String(); got != "front systems, users merged" {
		t.Error(got)
	}
	if Form(0).String() != "" {
		t.Error("nothing has a name")
	}
}

// A template that shows no user's text is rendered as it stands, whatever it makes of messages.
func TestNeeds_AsItStands(t *testing.T) {
	for name, template := range map[string]func(messages []chat.Message) string{
		"constant":    func([]chat.Message) string { return "Hello" },
		"other words": func(messages []chat.Message) string { return fmt.Sprint(len(messages), len(messages[0].Content)) },
	} {
		render := func(_ context.Context, messages []chat.Message) (string, error) { return template(messages), nil }
		needs := Needs(t.Context(), render)
		got, said, err := Say(t.Context(), needs, []chat.Message{says(system, "a"), says(system, "b"), says(user, "c")}, 8,
			func(_ context.Context, messages []chat.Message) (string, string, error) {
				return template(messages), template(messages), nil
			})
		if needs != AsItStands || err != nil || len(said) != 3 || got != template(said) {
			t.Errorf("%s: %x, %q, %v, %v", name, needs, got, said, err)
		}
	}
}
