// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/excerpt"
)

// Conn is a connection to Penstock's WebSocket.
type Conn struct{ conn *websocket.Conn }

// maxFrame bounds a frame, in bytes. A live frame has hundreds of ticks.
const maxFrame = 4 << 20

// Dial opens a WebSocket with a key; empty: the client's.
func (h *HTTP) Dial(ctx context.Context, key string) (*Conn, error) {
	header := http.Header{}
	if key = cmp.Or(key, h.Key); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	conn, _, err := websocket.Dial(ctx, h.URL+"/v1/ws", &websocket.DialOptions{HTTPClient: h.client, HTTPHeader: header}) //nolint:bodyclose // the connection's own
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", h.URL, err)
	}
	conn.SetReadLimit(maxFrame)
	return &Conn{conn}, nil
}

// Close hangs up, whatever is under way: the server cancels that.
func (c *Conn) Close() { _ = c.conn.CloseNow() } // it may be closed already

// Send sends a frame, which becomes JSON.
func (c *Conn) Send(ctx context.Context, frame any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, websocket.MessageText, data)
}

// Frame is any frame of the server's; which fields count goes by its type.
type Frame struct {
	Type, ID, As, Frame, Stream string
	Seq                         int64
	Text                        string // of a token
	Removed                     string // when rewound
	Prompt                      int    `json:"prompt_tokens"` // when started
	Cached                      int    `json:"cached_tokens"` // when started
	Reason                      string // of an end
	Usage                       usage  // of an end
	Error                       *struct{ Code, Message string }

	At   time.Time `json:"-"` // when it came
	Data []byte    `json:"-"` // the whole frame
}

// Read reads a frame.
func (c *Conn) Read(ctx context.Context) (f Frame, err error) {
	_, f.Data, err = c.conn.Read(ctx)
	f.At = time.Now()
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(f.Data, &f); err != nil {
		return f, fmt.Errorf("%w: a frame is not JSON: %w: %q", ErrServer, err, excerpt.Of(string(f.Data), 200))
	}
	return f, nil
}

// Socket streams over Penstock's WebSocket. Each stream has a connection while it lasts, which the
// next one takes over.
type Socket struct {
	*HTTP

	mu   sync.Mutex
	idle []*Conn
}

// NewSocket streams with the key, the model and the form of messages of a client.
func NewSocket(h *HTTP) *Socket { return &Socket{HTTP: h} }

// Close closes idle connections.
func (s *Socket) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.Close()
	}
	s.idle = nil
	s.HTTP.Close()
}

// Stream implements Streamer.
func (s *Socket) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	conn, err := s.take(ctx)
	if err != nil {
		return Usage{}, err
	}
	usage, err := s.converse(ctx, conn, r, arrived)
	if err != nil {
		conn.Close() // its state is unknown
		return usage, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, conn)
	return usage, nil
}

func (s *Socket) take(ctx context.Context) (*Conn, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		conn := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return conn, nil
	}
	s.mu.Unlock()
	return s.Dial(ctx, "")
}

func (s *Socket) converse(ctx context.Context, conn *Conn, r Request, arrived func(at time.Time)) (Usage, error) {
	b := bodyOf(r, s.Model, s.Chat)
	b.StreamOptions = nil // the end frame has it always
	if err := conn.Send(ctx, map[string]any{"type": "generate", "id": "1", "request": b}); err != nil {
		return Usage{}, err
	}
	var told Usage
	for {
		f, err := conn.Read(ctx)
		if err != nil {
			return told, err
		}
		if f.Error != nil {
			return told, fmt.Errorf("%w: %s", ErrServer, f.Error.Message)
		}
		switch f.Type {
		case "started":
			told.Prompt, told.Cached = f.Prompt, f.Cached
		case "token":
			if f.Text != "" {
				arrived(f.At)
			}
		case "end":
			return f.Usage.usage(), nil
		}
	}
}
