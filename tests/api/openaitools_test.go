// SPDX-License-Identifier: MIT

//go:build !race

package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// place is what the tool takes and what structured answers are.
type place struct{ City, Days string }

var placeSchema = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"city": map[string]any{"type": "string", "enum": []string{"Paris", "Oslo"}},
		"days": map[string]any{"type": "string", "enum": []string{"one", "two"}},
	},
	"required": []string{"city", "days"}, "additionalProperties": false,
}

// isPlace reports whether a text is a place in JSON.
func isPlace(text string) bool {
	var p place
	return json.Unmarshal([]byte(text), &p) == nil && strings.Contains("Paris Oslo", p.City) && strings.Contains("one two", p.Days) && p.City != "" && p.Days != ""
}

func clientOf(h *host.Host) openai.Client {
	return openai.NewClient(option.WithBaseURL(h.URL()+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

// A forced call comes whole and streamed, and its result goes back.
func TestHost_OpenAIClient_Tools(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	ctx, client := t.Context(), clientOf(h)
	tools := []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "get_weather", Description: openai.String("The weather in a city"), Parameters: placeSchema})}
	ask := openai.ChatCompletionNewParams{
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather in Paris?")},
		Temperature: openai.Float(0), MaxTokens: openai.Int(300), Tools: tools, ParallelToolCalls: openai.Bool(false),
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")},
	}
	whole, err := client.Chat.Completions.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	message := whole.Choices[0].Message
	if whole.Choices[0].FinishReason != "tool_calls" || len(message.ToolCalls) != 1 || message.ToolCalls[0].ID == "" ||
		message.ToolCalls[0].Function.Name != "get_weather" || !isPlace(message.ToolCalls[0].Function.Arguments) {
		t.Fatalf("got %s", whole.RawJSON())
	}

	stream := client.Chat.Completions.NewStreaming(ctx, ask)
	sum, finished := openai.ChatCompletionAccumulator{}, false
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatal("the client cannot put the chunks together")
		}
		if call, ok := sum.JustFinishedToolCall(); ok {
			finished = call.Name == "get_weather" && call.Arguments == message.ToolCalls[0].Function.Arguments
		}
	}
	if err := stream.Err(); err != nil || !finished || sum.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("streamed %+v, %v", sum.Choices, err)
	}

	ask.Messages = append(ask.Messages, message.ToParam(), openai.ToolMessage("Sunny, 20 degrees", message.ToolCalls[0].ID))
	ask.ToolChoice.OfAuto, ask.MaxTokens = openai.String("none"), openai.Int(40)
	if next, err := client.Chat.Completions.New(ctx, ask); err != nil || next.Choices[0].Message.Content == "" {
		t.Errorf("after the result: %+v %v", next, err)
	}
}

func TestHost_OpenAIClient_StructuredAnswer(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	client := clientOf(h)
	ask := openai.ChatCompletionNewParams{
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Where?")}, MaxTokens: openai.Int(200), Temperature: openai.Float(0),
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "place", Schema: placeSchema, Strict: openai.Bool(true)}}},
	}
	answer, err := client.Chat.Completions.New(t.Context(), ask)
	if err != nil || !isPlace(answer.Choices[0].Message.Content) {
		t.Errorf("got %+v %v", answer, err)
	}
	ask.ResponseFormat.OfJSONSchema.JSONSchema.Schema = map[string]any{"type": "place"}
	var refused *openai.Error
	if _, err := client.Chat.Completions.New(t.Context(), ask); !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Param != "response_format.json_schema.schema" {
		t.Errorf("got %v", err)
	}
}

func TestHost_OpenAIClient_Responses(t *testing.T) {
	h := hosts.Shared(t, toolTemplate(t), nil)
	client := clientOf(h)
	ask := responses.ResponseNewParams{
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("What is the weather in Paris?")},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", placeSchema, true)}, Temperature: openai.Float(0),
		MaxOutputTokens: openai.Int(300), ParallelToolCalls: openai.Bool(false),
		ToolChoice: responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsRequired)},
	}
	whole, err := client.Responses.New(t.Context(), ask)
	if err != nil || whole.Status != responses.ResponseStatusCompleted {
		t.Fatalf("got %+v %v", whole, err)
	}
	call := whole.Output[len(whole.Output)-1].AsFunctionCall()
	if call.Name != "get_weather" || !isPlace(call.Arguments) {
		t.Errorf("got %s", whole.RawJSON())
	}
	stream := client.Responses.NewStreaming(t.Context(), ask)
	var arguments strings.Builder
	for stream.Next() {
		if e := stream.Current(); e.Type == "response.function_call_arguments.delta" {
			arguments.WriteString(e.Delta)
		}
	}
	if err := stream.Err(); err != nil || arguments.String() != call.Arguments {
		t.Errorf("streamed %q, whole %q, %v", arguments.String(), call.Arguments, err)
	}

	text := responses.ResponseNewParams{Input: ask.Input, MaxOutputTokens: openai.Int(40), Temperature: openai.Float(0)}
	if answer, err := client.Responses.New(t.Context(), text); err != nil || answer.OutputText() == "" || answer.Usage.OutputTokens == 0 || answer.Usage.OutputTokens > 40 {
		t.Errorf("got %+v %v", answer, err)
	}
}

func TestHost_OpenAIClient_Embeddings(t *testing.T) {
	h := hosts.Open(t, map[string]any{"embedding.enabled": "true"})
	hosts.Run(t, h)
	client := clientOf(h)
	ask := openai.EmbeddingNewParams{Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"A frog in a pond.", "A king in a castle."}}}
	answer, err := client.Embeddings.New(t.Context(), ask)
	if err != nil || len(answer.Data) != 2 || answer.Data[1].Index != 1 || answer.Usage.PromptTokens < 2 {
		t.Fatalf("got %+v %v", answer, err)
	}
	for _, d := range answer.Data {
		square := 0.0
		for _, x := range d.Embedding {
			square += x * x
		}
		if square < 0.999 || square > 1.001 {
			t.Errorf("vector %d has the square %v", d.Index, square)
		}
	}
	ask.Dimensions = openai.Int(int64(len(answer.Data[0].Embedding)) + 1)
	var refused *openai.Error
	if _, err := client.Embeddings.New(t.Context(), ask); !errors.As(err, &refused) || refused.Param != "dimensions" {
		t.Errorf("got %v", err)
	}
}

// An answer whose client leaves in its middle frees its slot.
func TestHost_OpenAIClient_Abort(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	client := clientOf(h)
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me a story about a frog.")},
	}, option.WithJSONSet("ignore_eos", true))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	leave()
	hosts.Await(t, func() bool { return !strings.Contains(hosts.Get(t, h.URL()+"/slots"), `"is_processing":true`) })
}
