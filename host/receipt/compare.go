// SPDX-License-Identifier: MIT

package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/penstock/penstock/host/excerpt"
)

// Read checks a receipt and gives what it says, with the id of the key.
func (ks Keys) Read(jws string) (*Statement, string, error) {
	s := &Statement{}
	kid, err := ks.Open(KindReceipt, jws, s)
	if err == nil && s.Version != Version {
		err = fmt.Errorf("it is of version %d; this program reads version %d", s.Version, Version)
	}
	if err == nil && len(s.Choices) == 0 {
		err = errors.New("it is of no answer: choices is empty")
	}
	return s, kid, err
}

// In finds the receipt in what a server has answered: the JWS alone, with at most one line end, or
// a body, or the frames of a stream, of which the last with a receipt counts.
func In(text []byte) (string, error) {
	const field = `"receipt":"` // as it is written; within a text its quotation marks are escaped
	if i := strings.LastIndex(string(text), field); i >= 0 {
		jws, _, ok := strings.Cut(string(text[i+len(field):]), `"`)
		if ok {
			return jws, nil
		}
	}
	if strings.ContainsAny(string(text), "{ ") {
		return "", errors.New(`there is no receipt in it: ask for one with "receipt": true`)
	}
	jws := strings.TrimSuffix(string(text), "\n")
	return strings.TrimSuffix(jws, "\r"), nil
}

// CheckRequest finds out whether the receipt is of a request with this body.
func (s *Statement) CheckRequest(body []byte) error {
	if got := Digest(body); got != s.Request.SHA256 {
		return fmt.Errorf("it is another request: its SHA-256 is %s, and the receipt's %s", got, s.Request.SHA256)
	}
	return nil
}

// shown is an answer as a dialect shows it.
type shown struct {
	Content, Reasoning string
	Calls              []Call
	parts              bool // they stand apart
}

// body has the fields of answers of all dialects.
type body struct {
	Choices []struct {
		Text    *string `json:"text"`
		Message *struct {
			Content   string     `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []toolCall `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"` // OpenAI
	Content jsontext.Value `json:"content"` // llama-server: a text; Anthropic: a list of part
	Output  []struct {
		part
		Content []part `json:"content"`
	} `json:"output"` // Responses
	Message *struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []toolCall `json:"tool_calls"`
	} `json:"message"` // Ollama's chat
	Response *string        `json:"response"` // Ollama's generate
	Thinking string         `json:"thinking"`
	Text     jsontext.Value `json:"text"` // a transcription; of Responses it is none
}

type toolCall struct {
	Function struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

// part is a block of Anthropic's, or an item of a response or of its content.
type part struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
}

// callOf is a call whose arguments may stand as a text.
func callOf(name string, arguments []byte) Call {
	var text string
	if !read(arguments, &text) {
		text = string(arguments)
	}
	return Call{Name: name, Arguments: text}
}

func callsOf(all []toolCall) (calls []Call) {
	for _, c := range all {
		if c.Custom.Name != "" {
			calls = append(calls, Call{c.Custom.Name, c.Custom.Input, true})
		} else {
			calls = append(calls, callOf(c.Function.Name, c.Function.Arguments))
		}
	}
	return calls
}

// add adds a part of an answer.
func (a *shown) add(p part) {
	switch p.Type {
	case "text", "output_text":
		a.Content += p.Text
	case "reasoning_text":
		a.Reasoning += p.Text
	case "thinking":
		a.Reasoning += p.Thinking
	case "tool_use":
		a.Calls = append(a.Calls, callOf(p.Name, p.Input))
	case "custom_tool_call":
		call := callOf(p.Name, p.Input)
		call.Custom = true
		a.Calls = append(a.Calls, call)
	case "function_call":
		a.Calls = append(a.Calls, callOf(p.Name, p.Arguments))
	}
}

// answersIn are the answers of a body, whatever dialects it is of; none: it is no body.
func answersIn(text []byte) (all []shown) {
	var lists []jsontext.Value
	if read(text, &lists) { // of llama-server, to several prompts
		for _, one := range lists {
			all = append(all, answersIn(one)...)
		}
		return all
	}
	var b body
	if !read(text, &b) {
		return nil
	}
	for _, c := range b.Choices {
		switch {
		case c.Message != nil:
			all = append(all, shown{c.Message.Content, c.Message.Reasoning, callsOf(c.Message.ToolCalls), true})
		case c.Text != nil:
			all = append(all, shown{Content: *c.Text})
		}
	}
	add := func(one shown, is bool) {
		if is {
			all = append(all, one)
		}
	}
	if m := b.Message; m != nil {
		add(shown{m.Content, m.Thinking, callsOf(m.ToolCalls), true}, true)
	}
	if b.Response != nil {
		add(shown{Content: *b.Response, Reasoning: b.Thinking, parts: true}, true)
	}
	items := shown{parts: true}
	for _, item := range b.Output {
		items.add(item.part)
		for _, p := range item.Content {
			items.add(p)
		}
	}
	add(items, b.Output != nil)
	var blocks []part
	var content, said string
	if read(b.Content, &blocks) {
		one := shown{parts: true}
		for _, p := range blocks {
			one.add(p)
		}
		add(one, true)
	}
	if read(b.Content, &content) {
		add(shown{Content: content}, true)
	}
	if read(b.Text, &said) {
		add(shown{Content: said}, true)
	}
	return all
}

// read reads JSON that is of the type of to, strictly: a name that stands twice, or in capitals, is
// read otherwise by others.
func read(from []byte, to any) bool {
	return len(from) > 0 && strict.Unmarshal(from, to) == nil
}

// CheckAnswer finds out whether the receipt is of an answer: the body that a server has sent, or
// the text of one of the answers. It tells what was compared.
func (s *Statement) CheckAnswer(text []byte) (what string, err error) {
	all := answersIn(text)
	if len(all) == 0 {
		all = []shown{{Content: string(text)}}
	}
	for i, a := range all {
		candidates := s.Choices
		if len(all) == len(s.Choices) {
			candidates = s.Choices[i : i+1]
		} // else it is one text, or best_of has left some out
		if !slices.ContainsFunc(candidates, func(c Choice) bool { return c.is(a) }) {
			if isStream(text) {
				return "", errors.New("it is a stream, which is not compared: give the text of the answer instead")
			}
			return "", fmt.Errorf("answer %d is another: %s", i, differenceOf(a, candidates))
		}
	}
	return fmt.Sprintf("%d of %d answers", len(all), len(s.Choices)), nil
}

// isStream reports whether a text is events, or JSON objects that are a line each.
func isStream(text []byte) bool {
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	for _, begin := range []string{"data:", "event:", ":"} {
		if bytes.HasPrefix(first, []byte(begin)) {
			return true
		}
	}
	return bytes.HasPrefix(first, []byte("{")) && json.Valid(first) && len(bytes.TrimSpace(rest)) > 0
}

// is reports whether a choice is what was shown. A text alone may be all text, or the content.
func (c Choice) is(a shown) bool {
	if !a.parts {
		sum := Digest([]byte(a.Content))
		return sum == c.ContentSHA256 || sum == c.TextSHA256
	}
	return len(c.differences(a)) == 0
}

func (c Choice) differences(a shown) (parts []string) {
	for _, p := range []struct{ name, got, want string }{
		{"its content", TextDigest(a.Content), c.ContentSHA256},
		{"its reasoning", TextDigest(a.Reasoning), c.ReasoningSHA256},
		{"its tool calls", CallsDigest(a.Calls), c.CallsSHA256},
	} {
		if p.got != p.want {
			parts = append(parts, p.name)
		}
	}
	return parts
}

func differenceOf(a shown, candidates []Choice) string {
	if !a.parts || len(candidates) != 1 {
		return "no answer of the receipt has its text"
	}
	return strings.Join(candidates[0].differences(a), ", ") + " differs"
}

// Differences names what differs between a receipt and one of the same request that was computed
// anew. Who signed when, the body's own bytes, the name of the model and its recording may differ;
// so may what the operator has configured, unless both are signed with the same key.
func (s *Statement) Differences(anew *Statement, sameKey bool) (all []string) {
	differ := func(what string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			all = append(all, fmt.Sprintf("%s: it was %s, and is %s", what, brief(was), brief(is)))
		}
	}
	differ("the model's files", s.Model.Files, anew.Model.Files)
	differ("the options of llama.cpp", s.Model.Options, anew.Model.Options)
	was, is := s.Plugins, anew.Plugins
	if !sameKey {
		was, is = withoutSecrets(was), withoutSecrets(is)
	}
	differ("the plugins", was, is)
	for _, name := range namesOf(s.Sampling, anew.Sampling) {
		differ("the sampling parameter "+name, s.Sampling[name], anew.Sampling[name])
	}
	differ("the pictures and sounds", s.Request.Media, anew.Request.Media)
	differ("the prompts' tokens", s.Prompts, anew.Prompts)
	differ("the number of answers", len(s.Choices), len(anew.Choices))
	for i := range min(len(s.Choices), len(anew.Choices)) { // the parts of an answer follow from its text, as the dialect takes it apart
		was, is, of := s.Choices[i], anew.Choices[i], fmt.Sprintf(" of answer %d", i)
		differ("the seed"+of, was.Seed, is.Seed)
		differ("the number of tokens"+of, was.Tokens, is.Tokens)
		differ("the tokens"+of, was.TokensSHA256, is.TokensSHA256)
		differ("the text"+of, was.TextSHA256, is.TextSHA256)
		differ("the end"+of, was.FinishReason, is.FinishReason)
	}
	return all
}

// withoutSecrets are plugins without what only the server that has signed can compute.
func withoutSecrets(plugins []Plugin) []Plugin {
	all := slices.Clone(plugins)
	for i := range all {
		all[i].ConfigHMAC = ""
	}
	return all
}

// Concealed reports whether configurations of plugins are the operator's, so that nobody else can
// compare them.
func (s *Statement) Concealed() bool {
	return slices.ContainsFunc(s.Plugins, func(p Plugin) bool { return p.ConfigHMAC != "" })
}

func namesOf(maps ...map[string]any) (names []string) {
	for _, m := range maps {
		for name := range m {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// brief is a value as JSON, cut to what is read at a glance.
func brief(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return excerpt.Of(string(text), 400)
}
