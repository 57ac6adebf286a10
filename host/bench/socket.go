// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/excerpt"
)

// Socket streams over Penstock's WebSocket. Each stream has a connection while it lasts, which the
// next one takes over.
type Socket struct {
	URL   string // of the server, without a path
	Key   string // sent as a bearer token; empty: none
	Model string // empty: the server's own
	Chat  bool   // chat messages; else a text to continue

	mu   sync.Mutex
	idle []*websocket.Conn
}

// NewSocket is a client of the server at url.
func NewSocket(url string) *Socket { return &Socket{URL: strings.TrimSuffix(url, "/")} }

// Close closes idle connections.
func (s *Socket) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		_ = c.CloseNow() // nothing is under way on it
	}
	s.idle = nil
}

// frame is any frame of the server's; which fields count goes by its type.
type frame struct {
	Type   string     `json:"type"`
	Text   string     `json:"text"`          // token
	Prompt int        `json:"prompt_tokens"` // started
	Cached int        `json:"cached_tokens"` // started
	Usage  usage      `json:"usage"`         // end
	Error  *errorBody `json:"error"`         // end, error
}

// Stream implements Streamer.
func (s *Socket) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	conn, err := s.take(ctx)
	if err != nil {
		return Usage{}, err
	}
	usage, err := s.converse(ctx, conn, r, arrived)
	if err != nil {
		_ = conn.CloseNow() // its state is unknown; the server cancels what runs on it
		return usage, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, conn)
	return usage, nil
}

func (s *Socket) take(ctx context.Context) (*websocket.Conn, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		conn := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return conn, nil
	}
	s.mu.Unlock()
	header := http.Header{}
	if s.Key != "" {
		header.Set("Authorization", "Bearer "+s.Key)
	}
	conn, _, err := websocket.Dial(ctx, s.URL+"/v1/ws", &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // the connection's own
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.URL, err)
	}
	conn.SetReadLimit(maxEvent)
	return conn, nil
}

func (s *Socket) converse(ctx context.Context, conn *websocket.Conn, r Request, arrived func(at time.Time)) (Usage, error) {
	b := bodyOf(r, s.Model, s.Chat)
	b.StreamOptions = nil // the end frame has it always
	data, err := json.Marshal(map[string]any{"type": "generate", "id": "1", "request": b})
	if err != nil {
		return Usage{}, err
	}
	if err := conn.Write(ctx, websocket.MessageText, data); err != nil {
		return Usage{}, err
	}
	var told Usage
	for {
		_, data, err := conn.Read(ctx)
		at := time.Now()
		if err != nil {
			return told, err
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			return told, fmt.Errorf("%w: a frame is not JSON: %w: %q", ErrServer, err, excerpt.Of(string(data), 200))
		}
		if f.Error != nil {
			return told, f.Error.err()
		}
		switch f.Type {
		case "started":
			told.Prompt, told.Cached = f.Prompt, f.Cached
		case "token":
			if f.Text != "" {
				arrived(at)
			}
		case "end":
			return f.Usage.usage(), nil
		}
	}
}
