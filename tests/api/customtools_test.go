// SPDX-License-Identifier: MIT

//go:build !race

package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/penstock/penstock/tests/hosts"
)

// steps is a grammar of what a custom tool is given.
const steps = `start: "go " ("left" | "right") "\n<b>\"é\"</b>\n"`

func isStep(text string) bool {
	return text == "go left\n<b>\"é\"</b>\n" || text == "go right\n<b>\"é\"</b>\n"
}

// A custom tool is called with a text that fits its grammar, which comes whole and streamed, and
// the call and its result go back.
func TestHost_OpenAIClient_CustomTool_Chat(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	ctx, client := t.Context(), clientOf(h)
	grammar, _ := json.Marshal(steps)
	ask := param.Override[openai.ChatCompletionNewParams](json.RawMessage(`{"messages":[{"role":"user","content":"Which way?"}],"temperature":0,"max_tokens":300,"parallel_tool_calls":false,
		"tool_choice":{"type":"custom","custom":{"name":"walk"}},
		"tools":[{"type":"custom","custom":{"name":"walk","description":"Walks","format":{"type":"grammar","grammar":{"syntax":"lark","definition":` + string(grammar) + `}}}}]}`))
	whole, err := client.Chat.Completions.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	message := whole.Choices[0].Message
	if len(message.ToolCalls) != 1 || whole.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("got %s", whole.RawJSON())
	}
	call := message.ToolCalls[0].AsCustom()
	if call.Type != "custom" || call.ID == "" || call.Custom.Name != "walk" || !isStep(call.Custom.Input) || strings.Contains(message.RawJSON(), "function") {
		t.Errorf("got %s", message.RawJSON())
	}
	stream := client.Chat.Completions.NewStreaming(ctx, ask)
	var said string
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			for _, d := range c.Delta.ToolCalls {
				var delta struct {
					Custom struct{ Name, Input string }
				}
				if err := json.Unmarshal([]byte(d.RawJSON()), &delta); err != nil || (d.Type == "custom") != (delta.Custom.Name == "walk") || d.JSON.Function.Valid() {
					t.Errorf("%v in %s", err, d.RawJSON())
				}
				said += delta.Custom.Input
			}
		}
	}
	if err := stream.Err(); err != nil || said != call.Custom.Input {
		t.Errorf("streamed %q, whole %q, %v", said, call.Custom.Input, err)
	}
	again := openai.ChatCompletionNewParams{MaxTokens: openai.Int(4),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Which way?"), message.ToParam(), openai.ToolMessage("done", call.ID)}}
	if _, err := client.Chat.Completions.New(ctx, again); err != nil {
		t.Error(err)
	}
}

func TestHost_OpenAIClient_CustomTool_Responses(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	ctx, client := t.Context(), clientOf(h)
	grammar, _ := json.Marshal(steps)
	const choice = `"tool_choice":{"type":"custom","name":"walk"},`
	tools := `"tools":[{"type":"custom","name":"walk","description":"Walks","format":{"type":"grammar","syntax":"lark","definition":` + string(grammar) + `}}],`
	ask := param.Override[responses.ResponseNewParams](json.RawMessage(`{` + tools + choice + `"temperature":0,"max_output_tokens":300,"parallel_tool_calls":false,"input":"Which way?"}`))
	whole, err := client.Responses.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	call := whole.Output[len(whole.Output)-1].AsCustomToolCall()
	if call.Type != "custom_tool_call" || call.CallID == "" || call.Name != "walk" || !isStep(call.Input) {
		t.Errorf("got %s", whole.RawJSON())
	}
	stream := client.Responses.NewStreaming(ctx, ask)
	var said, done, item string
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.custom_tool_call_input.delta":
			said += e.Delta
		case "response.custom_tool_call_input.done":
			done = e.Input
		case "response.output_item.done":
			item = e.Item.AsCustomToolCall().Input
		case "response.function_call_arguments.delta":
			t.Errorf("got %s", e.RawJSON())
		}
	}
	if err := stream.Err(); err != nil || said != call.Input || done != said || item != said {
		t.Errorf("streamed %q, then %q and %q, whole %q, %v", said, done, item, call.Input, err)
	}
	back, _ := json.Marshal(map[string]any{"type": "custom_tool_call", "call_id": call.CallID, "name": call.Name, "input": call.Input})
	again := param.Override[responses.ResponseNewParams](json.RawMessage(`{` + tools + `"max_output_tokens":4,"input":[{"role":"user","content":"Which way?"},` + string(back) +
		`,{"type":"custom_tool_call_output","call_id":"` + call.CallID + `","output":"done"}]}`))
	if _, err := client.Responses.New(ctx, again); err != nil {
		t.Error(err)
	}
}
