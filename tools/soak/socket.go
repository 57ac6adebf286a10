// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// socket is a WebSocket, with all that was heard of its answers.
type socket struct {
	*soak
	conn  *websocket.Conn
	key   string   // that opened it
	sent  []string // frames
	heard map[string]*heard
	live  int // live frames
}

// heard is what a client knows of one answer.
type heard struct {
	said
	begun, ended bool
	paused       int // how often the server said so
	stream       string
	seq          int64
	tokens       int
	refusals     []string // codes of frames that were refused
}

// frame is any frame of the server's.
type frame struct {
	Type, ID, As, Frame, Text, Removed, Reason, Stream string
	Seq                                                int64
	Error                                              *struct{ Code, Message string }
}

// maxFrame bounds what a client takes, in bytes. A live frame has hundreds of ticks.
const maxFrame = 4 << 20

func (s *soak) dial(ctx context.Context, client *http.Client, key string) (*socket, error) {
	header := http.Header{"Authorization": {"Bearer " + key}}
	conn, _, err := websocket.Dial(ctx, s.place.URL+"/v1/ws", &websocket.DialOptions{HTTPClient: client, HTTPHeader: header}) //nolint:bodyclose // the package closes it
	if err != nil {
		return nil, fmt.Errorf("a WebSocket: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	return &socket{soak: s, conn: conn, key: key, heard: map[string]*heard{}}, nil
}

// hang closes the connection, whatever is going on.
func (k *socket) hang() { _ = k.conn.CloseNow() } // it may be closed already

// send sends a frame for the answer id.
func (k *socket) send(ctx context.Context, kind, id string, more map[string]any) error {
	f := map[string]any{"type": kind, "id": id}
	for name, value := range more {
		f[name] = value
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	k.sent = append(k.sent, string(data))
	return k.conn.Write(ctx, websocket.MessageText, data)
}

// generate asks for an answer.
func (k *socket) generate(ctx context.Context, id string, request, more map[string]any) error {
	f := map[string]any{"request": request}
	for name, value := range more {
		f[name] = value
	}
	k.heard[id] = &heard{seq: -1}
	return k.send(ctx, "generate", id, f)
}

// fork asks for a copy of an answer.
func (k *socket) fork(ctx context.Context, id, as string) error {
	k.heard[as] = &heard{seq: -1}
	return k.send(ctx, "fork", id, map[string]any{"as": as})
}

// wrong is what is wrong about the conversation so far.
func (k *socket) wrong(got, want string) error {
	return &wrong{"WebSocket\n    " + strings.Join(k.sent, "\n    "), got, want}
}

// read reads one frame and notes what it says.
func (k *socket) read(ctx context.Context) (f frame, _ error) {
	_, data, err := k.conn.Read(ctx)
	if err != nil {
		return f, fmt.Errorf("%w: %w", k.wrong("the connection broke", "a frame"), err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, k.wrong(string(data), "a frame")
	}
	if f.Type == "live" {
		k.live++
		return f, nil
	}
	id := f.ID
	if f.Type == "error" && f.As != "" {
		id = f.As
	}
	h := k.heard[id]
	if h == nil && f.Type == "error" {
		return f, nil
	}
	if h == nil || h.ended && f.Type != "error" || f.Type == "error" && f.Error == nil {
		return f, k.wrong(string(data), "no frame of an answer that is over or was not asked for")
	}
	if !h.note(f) {
		return f, k.wrong(string(data), fmt.Sprintf("a frame that fits %+v", *h))
	}
	return f, nil
}

// note takes a frame in; false where it does not fit what came before.
func (h *heard) note(f frame) (fits bool) {
	switch f.Type {
	case "started":
		fits, h.begun, h.stream, h.seq = !h.begun, true, f.Stream, f.Seq
		return fits
	case "token":
		fits = f.Seq > h.seq
		h.text, h.seq, h.tokens = h.text+f.Text, f.Seq, h.tokens+1
		return fits
	case "rewound":
		fits = f.Seq > h.seq && strings.HasSuffix(h.text, f.Removed)
		h.text, h.seq = strings.TrimSuffix(h.text, f.Removed), f.Seq
		return fits
	case "paused":
		h.paused++
	case "end":
		h.ended, h.reason = true, f.Reason
		if f.Error != nil {
			h.fault = f.Error.Code
		}
	case "error":
		h.refusals = append(h.refusals, f.Error.Code)
		if f.Frame == "generate" || f.As != "" || f.Frame == "attach" {
			h.ended, h.reason, h.fault = true, "refused", f.Error.Code
		}
	}
	return true
}

// until reads until something is so.
func (k *socket) until(ctx context.Context, so func() bool) error {
	for !so() {
		if _, err := k.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sentinel is the name of no answer.
const sentinel = "nobody"

// finish waits until all answers have ended, and then for the refusal of one more frame: up to it
// no answer may end again.
func (k *socket) finish(ctx context.Context, kind string) error {
	err := k.until(ctx, func() bool {
		for _, h := range k.heard {
			if !h.ended {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := k.send(ctx, "cancel", sentinel, nil); err != nil {
		return err
	}
	for {
		if f, err := k.read(ctx); err != nil || f.ID == sentinel {
			k.count(kind)
			return err
		}
	}
}

// count counts the answers of a connection.
func (k *socket) count(kind string) {
	for _, h := range k.heard {
		end := h.reason
		switch {
		case h.fault == "queue_full":
			end = "429 queue full"
		case h.fault == "plugins_busy":
			end = "503 plugins busy"
		case h.fault != "":
			end += " " + h.fault
		case !h.ended:
			end = "the client left"
		}
		k.tally.add("WebSocket, "+kind, end)
	}
}

// crowded reports whether there was no room for an answer.
func (h *heard) crowded(q question) bool {
	return h.fault == "queue_full" || h.fault == "plugins_busy" && q.uses("plugins")
}

// judge checks that an answer is the one that is known.
func (k *socket) judge(id string, q question) error {
	h := k.heard[id]
	if h.crowded(q) || h.said == q.answer {
		return nil
	}
	return k.wrong(fmt.Sprintf("of %s the text %q, ended by %s %s", id, h.text, h.reason, h.fault), fmt.Sprintf("the text %q, ended by %s", q.answer.text, q.answer.reason))
}
