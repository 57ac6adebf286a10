// SPDX-License-Identifier: MIT

package agents

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// call is a call of a tool, with its arguments in the order in which the model writes them.
type call struct {
	tool string
	args []arg
}

type arg struct{ name, value string }

// object is the arguments as JSON.
func (c call) object() string {
	var members []string
	for _, a := range c.args {
		value, err := json.Marshal(a.value)
		if err != nil {
			panic(err) // a string can be written
		}
		members = append(members, fmt.Sprintf("%q: %s", a.name, value))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// id is one for the call, of the form that Mistral's templates want.
func (c call) id() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(c.tool+c.object())))[:9] }

// each writes every argument.
func (c call) each(form string) string {
	var text strings.Builder
	for _, a := range c.args {
		fmt.Fprintf(&text, form, a.name, a.value)
	}
	return text.String()
}

// format is how a model writes, which its chat template decides.
type format struct {
	model    string
	template string            // its file in llama.cpp's folder
	call     func(call) string // with what is thought before
	thought  string            // what comes before the text of an answer
}

// said is what the last answer to each task ends with.
const said = "The frog has a hat now."

var formats = []format{
	{"qwen3", "Qwen-Qwen3-0.6B", func(c call) string {
		return "<think>\nI use a tool.\n</think>\n\n<tool_call>\n{\"name\": \"" + c.tool + "\", \"arguments\": " + c.object() + "}\n</tool_call>"
	}, "<think>\nThat is all.\n</think>\n\n"},
	{"qwen3.5", "Qwen3.5-4B", func(c call) string { // the prompt has begun the thought
		return "I use a tool.\n</think>\n\n<tool_call>\n<function=" + c.tool + ">\n" + c.each("<parameter=%s>\n%s\n</parameter>\n") + "</function>\n</tool_call>"
	}, "That is all.\n</think>\n\n"},
	{"gpt-oss", "openai-gpt-oss-120b", func(c call) string {
		return "<|channel|>analysis<|message|>I use a tool.<|end|><|start|>assistant<|channel|>commentary to=functions." + c.tool +
			" <|constrain|>json<|message|>" + c.object()
	}, "<|channel|>analysis<|message|>That is all.<|end|><|start|>assistant<|channel|>final<|message|>"},
	{"glm-4.6", "GLM-4.6", func(c call) string {
		return "\n<think>I use a tool.</think>\n<tool_call>" + c.tool + "\n" + c.each("<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n") + "</tool_call>"
	}, "\n<think>That is all.</think>\n"},
	{"llama-3.1", "meta-llama-Llama-3.1-8B-Instruct", func(c call) string {
		return `{"name": "` + c.tool + `", "parameters": ` + c.object() + `}`
	}, ""},
	{"mistral-nemo", "mistralai-Mistral-Nemo-Instruct-2407", func(c call) string {
		return `[TOOL_CALLS][{"name": "` + c.tool + `", "arguments": ` + c.object() + `, "id": "` + c.id() + `"}]`
	}, ""},
	{"mistral-small-3.2", "Mistral-Small-3.2-24B-Instruct-2506", func(c call) string {
		return `[TOOL_CALLS]` + c.tool + `[CALL_ID]` + c.id() + `[ARGS]` + c.object()
	}, ""},
}
