// SPDX-License-Identifier: MIT

// Command goclient asks a question over Penstock's WebSocket, begins the answer, and lets it go on
// in two ways.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/coder/websocket"
)

// frame is any frame of the server; its type decides which fields count. docs/websocket.md
// explains them.
type frame struct {
	Type, ID, Text, Removed, Reason string
	Error                           *struct{ Code, Message string }
}

func main() {
	url := flag.String("url", "ws://127.0.0.1:8080/v1/ws", "of the server's WebSocket")
	key := flag.String("key", "", "API key, if the server wants one")
	question := flag.String("question", "Tell me a story about a frog.", "what to ask")
	flag.Parse()
	if err := run(context.Background(), *url, *key, *question); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key, question string) error {
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}) //nolint:bodyclose // the package closes it
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // all that matters was read
	send := func(v any) error {
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return conn.Write(ctx, websocket.MessageText, body)
	}
	type object = map[string]any
	for _, f := range []object{
		{"type": "generate", "id": "first", "request": object{"messages": []object{{"role": "user", "content": question}}, "max_tokens": 80}},
		{"type": "pause", "id": "first"},
		{"type": "inject", "id": "first", "text": "Once upon a time"},
		{"type": "fork", "id": "first", "as": "second", "sampling": object{"temperature": 1.2}},
		{"type": "resume", "id": "first"},
	} {
		if err := send(f); err != nil {
			return err
		}
	}
	texts := map[string]string{}
	for open := 2; open > 0; {
		f, err := read(ctx, conn)
		if err != nil {
			return err
		}
		texts[f.ID] = strings.TrimSuffix(texts[f.ID], f.Removed) // a rewound frame's
		if texts[f.ID] += f.Text; f.Type == "end" {
			open--
		}
	}
	for _, id := range []string{"first", "second"} {
		fmt.Printf("%s: %s\n", id, texts[id])
	}
	return conn.Close(websocket.StatusNormalClosure, "")
}

// read reads a frame. What the server refuses, and an answer that failed, is an error.
func read(ctx context.Context, conn *websocket.Conn) (f frame, err error) {
	_, body, err := conn.Read(ctx)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, err
	}
	if f.Error != nil {
		return f, errors.New(f.Error.Message)
	}
	return f, nil
}
