// SPDX-License-Identifier: MIT

package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// question is one with a known answer.
type question struct {
	prompt string
	tokens int // of the answer
	answer string
}

type object = map[string]any

func (q question) body() object {
	return object{"messages": []object{{"role": "user", "content": q.prompt}}, "temperature": 0, "ignore_eos": true, "max_tokens": q.tokens}
}

// post sends the question over HTTP. Conversation may be empty. Ballast makes the request too
// large to be sent again.
func (q question) post(ctx context.Context, url string, stream bool, conversation string, ballast int) (*http.Response, error) {
	body := q.body()
	body["stream"] = stream
	body["user"] = strings.Repeat("x", ballast)
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if conversation != "" {
		r.Header.Set("X-Conversation-Id", conversation)
	}
	return http.DefaultClient.Do(r)
}

// ask streams an answer over HTTP and says who gave it.
func ask(ctx context.Context, url string, q question, conversation string, ballast int) (replica string, err error) {
	answer, err := q.post(ctx, url, true, conversation, ballast)
	if err != nil {
		return "", err
	}
	return q.check(answer)
}

// check reads a streamed answer, which has to be the right one, and says who gave it.
func (q question) check(answer *http.Response) (replica string, err error) {
	defer answer.Body.Close() //nolint:errcheck // it was read
	replica = answer.Header.Get("X-Replica")
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body) // it only explains
		return replica, fmt.Errorf("%s from %q: %s", answer.Status, replica, text)
	}
	text, err := content(answer.Body)
	if err != nil {
		return replica, fmt.Errorf("the answer of %s broke: %w", replica, err)
	}
	if text != q.answer {
		return replica, fmt.Errorf("%s answered %q, want %q", replica, text, q.answer)
	}
	return replica, nil
}

// content is the text of a streamed chat completion.
func content(r io.Reader) (text string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return text, nil
		}
		var chunk struct {
			Error   *struct{ Message string }
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return text, err
		}
		if chunk.Error != nil {
			return text, errors.New(chunk.Error.Message)
		}
		for _, c := range chunk.Choices {
			text += c.Delta.Content
		}
	}
	return text, errors.Join(errors.New("it has no end"), lines.Err())
}

// frame is any frame of the server.
type frame struct {
	Type, Stream, Text, Reason string
	Seq                        int64
	Error                      *struct{ Code, Message string }
}

// caller is a client of the WebSocket. It hangs up now and then in the middle of an answer, and
// comes back.
type caller struct {
	url     string
	pace    time.Duration // between two frames that it reads
	between int           // about as many frames are between two times that it hangs up; 0: it does not
	rng     *rand.Rand

	conn    *websocket.Conn // nil: none
	replica string          // that it leads to
	resumed int             // how often an answer went on, on another connection
	moved   int             // how often a server that ends sent it elsewhere
}

// dial connects to a replica, or wherever the proxy likes.
func (c *caller) dial(ctx context.Context, replica string) error {
	url := c.url + "/v1/ws"
	if replica != "" {
		url += "?replica=" + replica
	}
	conn, answer, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the package closes it
	if err != nil {
		return err
	}
	conn.SetReadLimit(1 << 20)
	c.conn, c.replica = conn, answer.Header.Get("X-Replica")
	return nil
}

// leave closes the connection in order, so that the server knows that all has arrived.
func (c *caller) leave() {
	if c.conn != nil {
		_ = c.conn.Close(websocket.StatusNormalClosure, "") // the server may have closed it
		c.conn = nil
	}
}

// hang drops the connection as a network does.
func (c *caller) hang() {
	_ = c.conn.CloseNow() // it may be closed already
	c.conn = nil
}

// said is what the caller has of an answer.
type said struct {
	stream, text string
	seq          int64
	ended        bool
}

// home is the replica that has a stream.
func (s *said) home() string { return s.stream[:max(strings.LastIndexByte(s.stream, '.'), 0)] }

// ask gets one answer, however many connections that takes.
func (c *caller) ask(ctx context.Context, q question) error {
	s := &said{seq: -1}
	for !s.ended {
		if err := c.part(ctx, q, s); err != nil {
			return err
		}
	}
	if s.text != q.answer {
		return fmt.Errorf("%s answered %q, want %q", s.stream, s.text, q.answer)
	}
	return nil
}

// part gets as much of an answer as one connection brings.
func (c *caller) part(ctx context.Context, q question, s *said) error {
	if c.conn == nil {
		if err := c.dial(ctx, s.home()); err != nil {
			return err
		}
	}
	f := q.generate()
	if s.stream != "" {
		c.resumed++
		f = s.attach()
	}
	if err := c.send(ctx, f); err != nil {
		c.hang()
		return ctx.Err()
	}
	return c.listen(ctx, s)
}

// generate is the frame that asks the question, for an answer that outlives its connection.
func (q question) generate() object {
	return object{"type": "generate", "id": "a", "request": q.body(), "detach_ms": 120_000}
}

// attach is the frame with which the answer goes on.
func (s *said) attach() object {
	return object{"type": "attach", "id": "a", "stream": s.stream, "after": s.seq}
}

// begin connects and sends frames.
func (c *caller) begin(ctx context.Context, replica string, frames ...object) error {
	if err := c.dial(ctx, replica); err != nil {
		return err
	}
	return c.send(ctx, frames...)
}

// send sends frames.
func (c *caller) send(ctx context.Context, frames ...object) error {
	for _, f := range frames {
		data, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if err := c.conn.Write(ctx, websocket.MessageText, data); err != nil {
			return err
		}
	}
	return nil
}

// listen reads until the answer ends, the connection ends, or the caller hangs up.
func (c *caller) listen(ctx context.Context, s *said) error {
	left := -1
	if c.between > 0 {
		left = 1 + c.rng.IntN(2*c.between)
	}
	for ; left != 0 && !s.ended; left-- {
		f, err := c.read(ctx)
		if c.conn == nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if f.Type == "error" && f.Error.Code == "shutting_down" && s.stream == "" {
			c.leave()
			c.moved++
			return nil
		}
		if err := s.take(f); err != nil {
			return fmt.Errorf("%s, after event %d of %s: %w", c.replica, s.seq, s.stream, err)
		}
		time.Sleep(c.pace) // so that answers last
	}
	if !s.ended {
		c.hang()
	}
	return nil
}

// read reads a frame. A connection that has ended is given up.
func (c *caller) read(ctx context.Context) (f frame, err error) {
	_, data, err := c.conn.Read(ctx)
	if websocket.CloseStatus(err) == websocket.StatusGoingAway {
		c.moved++
	}
	if err != nil {
		c.hang()
		return f, err
	}
	return f, json.Unmarshal(data, &f)
}

// take takes a frame in. Each event follows the one before.
func (s *said) take(f frame) error {
	switch f.Type {
	case "started":
		if s.stream != "" {
			return errors.New("started again")
		}
		s.stream, s.seq = f.Stream, 0
	case "token":
		if f.Seq != s.seq+1 {
			return fmt.Errorf("got event %d", f.Seq)
		}
		s.seq, s.text = f.Seq, s.text+f.Text
	case "end":
		if s.ended = true; f.Reason != "length" {
			return fmt.Errorf("ended by %s: %+v", f.Reason, f.Error)
		}
	case "paused", "resumed":
	case "error":
		return fmt.Errorf("%s: %s", f.Error.Code, f.Error.Message)
	default:
		return fmt.Errorf("a frame of the type %s", f.Type)
	}
	return nil
}
