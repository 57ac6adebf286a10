// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// turn is a message of a conversation: texts and numbers of senses.
type turn struct {
	role  string
	parts []any
}

// seenIn are conversations with senses at the beginning, between texts and in the middle.
var seenIn = [][]turn{
	{{"user", []any{0, "what is this?"}}},
	{{"user", []any{0, "one", 1, "two", "three"}}},
	{{"system", []any{"Look."}}, {"user", []any{"what is ", 0, "this?"}}, {"assistant", []any{"This."}}, {"user", []any{1, "and?"}}},
	{{"user", []any{"no"}}, {"assistant", []any{"Yes."}}, {"user", []any{0, 0, "twice?"}}, {"assistant", []any{"Of "}}},
}

// chat is an API that takes conversations.
type chat struct {
	path, events string // events: the path of what a stream's events add to the text, names with dots
	answer       string // likewise, of the whole answer
	sounds       bool   // it takes them
	body         func(s *sensing, turns []turn) map[string]any
}

var openAI = chat{path: "/v1/chat/completions", events: "choices.delta.content", answer: "choices.message.content", sounds: true, body: func(s *sensing, turns []turn) map[string]any {
	return map[string]any{"messages": s.messages(turns, "text", func(part sense) map[string]any {
		if part.sound {
			return map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": base64.StdEncoding.EncodeToString(part.file), "format": "wav"}}
		}
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": part.url()}}
	}), "max_tokens": answered, "logprobs": true, "top_logprobs": 10}
}}

// chats are the others, each of which should answer as OpenAI's does.
var chats = []chat{
	{path: "/v1/responses", events: "delta", answer: "output.content.text", body: func(s *sensing, turns []turn) map[string]any {
		return map[string]any{"input": s.messages(turns, "input_text", func(part sense) map[string]any {
			return map[string]any{"type": "input_image", "image_url": part.url()}
		}), "max_output_tokens": answered}
	}},
	{path: "/v1/messages", events: "delta.text", answer: "content.text", body: func(s *sensing, turns []turn) map[string]any {
		return map[string]any{"messages": s.messages(turns, "text", func(part sense) map[string]any {
			return map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": base64.StdEncoding.EncodeToString(part.file)}}
		}), "max_tokens": answered}
	}},
	{path: "/api/chat", events: "message.content", answer: "message.content", body: func(s *sensing, turns []turn) map[string]any {
		var messages []map[string]any
		for _, turn := range turns {
			text, images := "", [][]byte{}
			for _, part := range turn.parts {
				if sense, is := part.(int); is && text == "" {
					images = append(images, s.all[sense].file)
				} else if is {
					return nil // its pictures stand before the text
				} else {
					text += part.(string)
				}
			}
			messages = append(messages, map[string]any{"role": turn.role, "content": text, "images": images})
		}
		return map[string]any{"messages": messages, "options": map[string]any{"num_predict": answered, "temperature": 0}}
	}},
}

func (s sense) url() string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(s.file)
}

// messages are a conversation's in one of the shapes with lists of parts.
func (s *sensing) messages(turns []turn, text string, file func(sense) map[string]any) (messages []map[string]any) {
	for _, turn := range turns {
		parts := []map[string]any{}
		for _, part := range turn.parts {
			if n, is := part.(int); is {
				parts = append(parts, file(s.all[n]))
			} else {
				parts = append(parts, map[string]any{"type": text, "text": part})
			}
		}
		content := any(parts)
		if turn.role == "assistant" {
			content = turn.parts[0]
		}
		messages = append(messages, map[string]any{"role": turn.role, "content": content})
	}
	return messages
}

// say has a server answer a conversation: the text and, of a whole answer by OpenAI's API, how
// likely its tokens were.
func (c *chat) say(s *sensing, server Server, turns []turn, stream bool) (string, written) {
	s.Helper()
	body := c.body(s, turns)
	body["stream"], body["temperature"] = stream, 0
	raw, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	a := server.Call(s, http.MethodPost, c.path, string(raw))
	if a.Status != http.StatusOK {
		s.Fatalf("%s %v: %d %s", c.path, turns, a.Status, a.Body)
	}
	if stream {
		return joined(s.T, a.Body, strings.Split(c.events, ".")...), nil
	}
	var answer struct {
		Choices []struct{ Logprobs struct{ Content written } }
	}
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil {
		s.Fatal(err, a.Body)
	}
	text := joined(s.T, a.Body, strings.Split(c.answer, ".")...)
	if len(answer.Choices) == 0 {
		return text, nil
	}
	return text, answer.Choices[0].Logprobs.Content
}

// compareChats asks by OpenAI's chats on both servers, and by the other APIs on ours.
func (s *sensing) compareChats() {
	for i, turns := range seenIn {
		if !s.pair.Sees() && i != 2 {
			continue
		}
		want, wrote := openAI.say(s, s.peer, turns, false)
		for _, stream := range []bool{false, true} {
			if got, _ := openAI.say(s, s.ours, turns, stream); got != want && !wrote.tied(strings.TrimPrefix(got, "Of ")) {
				s.Errorf("%v, streamed %v: llama-server says %q, Penstock %q", turns, stream, want, got)
			}
		}
		want, _ = openAI.say(s, s.ours, turns, false)
		if !s.pair.Sees() {
			continue
		}
		for _, c := range chats {
			if c.body(s, turns) == nil || c.path == "/v1/messages" && turns[0].role == "system" {
				continue
			}
			got, _ := c.say(s, s.ours, turns, i%2 == 0)
			if got != want && "Of "+got != want { // some do not tell what the answer goes on from
				s.Errorf("%s: %v: by OpenAI's chat it is %q, here %q", c.path, turns, want, got)
			}
		}
	}
	if !s.pair.Sees() {
		return
	}
	generate := chat{path: "/api/generate", answer: "response", body: func(s *sensing, turns []turn) map[string]any {
		return map[string]any{"prompt": turns[0].parts[1], "images": [][]byte{s.all[0].file}, "options": map[string]any{"num_predict": answered, "temperature": 0}}
	}}
	want, _ := openAI.say(s, s.ours, seenIn[0], false)
	if got, _ := generate.say(s, s.ours, seenIn[0], false); got != want {
		s.Errorf("/api/generate: %q; by OpenAI's chat %q", got, want)
	}
	c := s.dial(s.ours)
	c.write(websocket.MessageBinary, append([]byte("\x01p"), s.all[0].file...))
	c.send(fmt.Sprintf(`{"type":"generate","id":"a","request":{"temperature":0,"max_tokens":%d,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"frame:p"}},{"type":"text","text":"what is this?"}]}]}}`, answered))
	if got := c.texts("a")["a"]; got != want {
		s.Errorf("WebSocket: %q; by OpenAI's chat %q", got, want)
	}
}

// client is one of a WebSocket.
type client struct {
	*testing.T
	conn *websocket.Conn
}

// frame is one that the server sends.
type frame struct {
	Type, ID, Text, Removed string
	Tokens                  int
	Error                   struct{ Message string }
}

func (s *sensing) dial(server Server) *client {
	s.Helper()
	conn, _, err := websocket.Dial(s.Context(), server.URL+"/v1/ws", nil)
	if err != nil {
		s.Fatal(err)
	}
	conn.SetReadLimit(1 << 24)
	s.Cleanup(func() { _ = conn.CloseNow() }) // it may have ended
	return &client{s.T, conn}
}

func (c *client) write(kind websocket.MessageType, data []byte) {
	c.Helper()
	if err := c.conn.Write(c.Context(), kind, data); err != nil {
		c.Fatal(err)
	}
}

func (c *client) send(text string) {
	c.Helper()
	c.write(websocket.MessageText, []byte(text))
}

// next is the next frame, which is no error.
func (c *client) next() frame {
	c.Helper()
	f := c.read()
	if f.Type == "error" {
		c.Fatal(f.Error.Message)
	}
	return f
}

func (c *client) read() (f frame) {
	c.Helper()
	_, data, err := c.conn.Read(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		c.Fatal(err)
	}
	return f
}

// texts reads answers to their ends.
func (c *client) texts(ids ...string) map[string]string {
	c.Helper()
	texts := map[string]string{}
	for ended := 0; ended < len(ids); {
		f := c.next()
		switch f.Type {
		case "token":
			texts[f.ID] += f.Text
		case "rewound":
			texts[f.ID] = strings.TrimSuffix(texts[f.ID], f.Removed)
		case "end":
			ended++
		}
	}
	return texts
}
