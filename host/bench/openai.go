// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/excerpt"
)

// body is a request as OpenAI has it, with ignore_eos, which llama-server and Penstock know.
type body struct {
	Model         string         `json:"model,omitempty"`
	Prompt        string         `json:"prompt,omitempty"`
	Messages      []message      `json:"messages,omitempty"`
	MaxTokens     int            `json:"max_tokens"`
	Temperature   float64        `json:"temperature"`
	Seed          uint32         `json:"seed"`
	IgnoreEOS     bool           `json:"ignore_eos"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`

	Plugins json.RawMessage `json:"plugins,omitempty"`
	Schema  json.RawMessage `json:"json_schema,omitempty"` // as llama-server and Penstock have it on every route
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or a list of part
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func bodyOf(r Request, model string, chat bool) body {
	b := body{Model: model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Seed: r.Seed, IgnoreEOS: !r.MayEnd,
		Stream: true, StreamOptions: &streamOptions{IncludeUsage: true}, Plugins: r.Plugins, Schema: r.Schema}
	switch {
	case len(r.Picture) > 0:
		picture := imageURL{"data:image/png;base64," + base64.StdEncoding.EncodeToString(r.Picture)}
		b.Messages = []message{{"user", []part{{Type: "image_url", ImageURL: &picture}, {Type: "text", Text: r.Prompt}}}}
	case chat:
		b.Messages = []message{{"user", r.Prompt}}
	default:
		b.Prompt = r.Prompt
	}
	return b
}

// chunk is an event of a streamed answer, of a text or a chat completion.
type chunk struct {
	Choices []struct {
		Text  string `json:"text"`
		Delta struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage     `json:"usage"`
	Error *errorBody `json:"error"`
}

type usage struct {
	Prompt    int `json:"prompt_tokens"`
	Generated int `json:"completion_tokens"`
	Details   struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u usage) usage() Usage {
	return Usage{Prompt: u.Prompt, Cached: u.Details.Cached, Generated: u.Generated}
}

// errorBody is OpenAI's error object.
type errorBody struct {
	Message string `json:"message"`
}

func (e *errorBody) err() error { return fmt.Errorf("%w: %s", ErrServer, e.Message) }

// hasText reports whether the event carries text of the answer.
func (c *chunk) hasText() bool {
	for _, choice := range c.Choices {
		if choice.Text != "" || choice.Delta.Content != "" || choice.Delta.Reasoning != "" {
			return true
		}
	}
	return false
}

// finished reports whether the event says why the answer ended.
func (c *chunk) finished() bool {
	return len(c.Choices) > 0 && c.Choices[0].FinishReason != ""
}

func parseChunk(data []byte) (chunk, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return chunk{}, fmt.Errorf("%w: an event is not JSON: %w: %q", ErrServer, err, excerpt.Of(string(data), 200))
	}
	return c, nil
}
