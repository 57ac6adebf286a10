// SPDX-License-Identifier: MIT

//go:build !race

// Compiling the client with the race detector takes minutes and would show nothing about this
// program.

package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/penstock/penstock/tests/hosts"
)

// The official client sees an ordinary OpenAI server.
func TestHost_OpenAIClient(t *testing.T) {
	h := hosts.Open(t, map[string]any{"server.api_keys": []string{"secret"}})
	hosts.Run(t, h)
	ctx := context.Background()
	client := openai.NewClient(option.WithBaseURL(h.URL()+"/v1"), option.WithAPIKey("secret"), option.WithMaxRetries(0))

	models, err := client.Models.List(ctx)
	if err != nil || len(models.Data) != 2 {
		t.Fatalf("%+v %v", models, err)
	}
	ask := openai.ChatCompletionNewParams{
		Model:    models.Data[0].ID,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Tell me a story about a frog.")},
		Seed:     openai.Int(7), MaxCompletionTokens: openai.Int(40), Temperature: openai.Float(0.7),
		Logprobs: openai.Bool(true), TopLogprobs: openai.Int(2), N: openai.Int(2),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	whole, err := client.Chat.Completions.New(ctx, ask)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Choices) != 2 || whole.Choices[0].Message.Content == "" || whole.Usage.CompletionTokens < 2 ||
		len(whole.Choices[1].Logprobs.Content) == 0 || len(whole.Choices[1].Logprobs.Content[0].TopLogprobs) != 2 {
		t.Errorf("got %+v", whole)
	}
	stream := client.Chat.Completions.NewStreaming(ctx, ask)
	sum := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatal("the client cannot put the chunks together")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for i, c := range sum.Choices {
		if c.Message.Content != whole.Choices[i].Message.Content || c.FinishReason != whole.Choices[i].FinishReason {
			t.Errorf("choice %d with the same seed: streamed %q, whole %q", i, c.Message.Content, whole.Choices[i].Message.Content)
		}
	}
	if sum.Usage.CompletionTokens != whole.Usage.CompletionTokens {
		t.Errorf("usage %+v, whole %+v", sum.Usage, whole.Usage)
	}

	text, err := client.Completions.New(ctx, openai.CompletionNewParams{
		Model: openai.CompletionNewParamsModel(models.Data[0].ID), MaxTokens: openai.Int(10), Temperature: openai.Float(0),
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Once upon a time")},
	})
	if err != nil || text.Choices[0].Text == "" {
		t.Errorf("%+v %v", text, err)
	}

	ask.Temperature = openai.Float(-1)
	var refused *openai.Error
	if _, err := client.Chat.Completions.New(ctx, ask); !errors.As(err, &refused) || refused.Param != "temperature" || refused.StatusCode != 400 {
		t.Errorf("got %v", err)
	}
	stranger := openai.NewClient(option.WithBaseURL(h.URL()+"/v1"), option.WithAPIKey("guess"), option.WithMaxRetries(0))
	if _, err := stranger.Models.List(ctx); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v", err)
	}
}
