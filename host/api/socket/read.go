// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
)

// clientFrame is any frame that a client sends over the WebSocket. Its type decides which fields
// count.
type clientFrame struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Request  json.RawMessage `json:"request"`   // generate
	DetachMS int64           `json:"detach_ms"` // generate, fork
	Overflow string          `json:"overflow"`  // generate, fork
	Parts    bool            `json:"parts"`     // generate, fork
	As       string          `json:"as"`        // fork
	Sampling json.RawMessage `json:"sampling"`  // set, fork
	Text     *string         `json:"text"`      // inject
	Tokens   *int            `json:"tokens"`    // rewind
	Stream   string          `json:"stream"`    // attach
	After    *int64          `json:"after"`     // attach
	EveryMS  *int64          `json:"every_ms"`  // watch

	release func() // lets go of the frame's memory
}

type errorFrame struct {
	Type  string           `json:"type"`
	ID    string           `json:"id,omitempty"`
	As    string           `json:"as,omitempty"`    // of a fork
	Frame string           `json:"frame,omitempty"` // the type of the frame that was refused, if it can be read
	Error wire.ErrorObject `json:"error"`
}

func refusalFrame(id string, err error) errorFrame {
	return errorFrame{Type: "error", ID: id, Error: wire.ErrorOf(completion.AsError(err, "request"))}
}

// read handles frames until the connection ends.
func (k *connection) read() error {
	for {
		k.slowDown()
		kind, r, err := k.conn.Reader(k.ctx)
		if err != nil {
			return err
		}
		if err := k.readFrame(kind, r); err != nil {
			return err
		}
	}
}

// readFrame reads one frame and acts on it. It fails only if the connection does; a frame that is
// too large is read to its end and refused.
func (k *connection) readFrame(kind websocket.MessageType, r io.Reader) error {
	r, arrived := k.hurryReader(r)
	defer arrived()
	counted := k.incoming.claim.Body(r)
	body, err := io.ReadAll(io.LimitReader(counted, k.api.BodyLimit+1))
	var refused *refusal.Error
	switch {
	case errors.As(err, &refused):
		err = refused
	case err != nil:
		counted.Release()
		return err
	case int64(len(body)) > k.api.BodyLimit:
		err = wire.TooLarge(k.api.BodyLimit)
	case kind != websocket.MessageText:
		if err = k.keep(body, counted.Release); err == nil {
			return nil
		}
	default:
		if err = counted.Decode(body); err == nil {
			arrived()
			k.handle(body, counted.Release)
			return nil
		}
	}
	counted.Release()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	k.refuse(clientFrame{}, err)
	return nil
}

// frameRate is how many bytes of a frame give its client a second more for it.
const frameRate = 128 << 10

// hurryReader ends the connection if a frame that has begun does not arrive in time: a frame that
// never ends would keep its memory forever. A large one has more time than a small one. What is
// beyond the largest has no time of its own. arrived may be called more than once.
func (k *connection) hurryReader(r io.Reader) (_ io.Reader, arrived func()) {
	if k.api.BodyTimeout <= 0 {
		return r, func() {}
	}
	until := time.Now().Add(k.api.BodyTimeout)
	late := time.AfterFunc(k.api.BodyTimeout, k.endLate)
	return &hurriedReader{r: r, most: k.api.BodyLimit, read: func(n int64) {
		late.Reset(time.Until(until.Add(time.Duration(n) * time.Second / frameRate)))
	}}, func() { late.Stop() }
}

type hurriedReader struct {
	r       io.Reader
	n, most int64 // bytes
	read    func(n int64)
}

// Read implements io.Reader.
func (h *hurriedReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.n += int64(n); h.n <= h.most {
		h.read(h.n)
	}
	return n, err
}

// endLate ends the connection because of a frame that takes too long.
func (k *connection) endLate() {
	ctx, done := context.WithTimeout(k.ctx, lastTime)
	defer done()
	late := &refusal.Error{Kind: refusal.KindLate, Code: "incomplete_frame",
		Message: "a frame did not arrive in time: server.body_timeout, and a second more for each 128 KiB of it"}
	if !k.send(ctx, refusalFrame("", late)) || !k.send(ctx, closeFrame{websocket.StatusPolicyViolation, "a frame did not arrive in time"}) {
		k.close()
	}
}

// After freeRefusals refused frames in a row, each further frame is read late, so that a client
// that sends nothing but frames that are refused takes no processor time from others.
const (
	freeRefusals = 64
	refusalDelay = 5 * time.Millisecond
)

// slowDown waits before the next frame of a client whose frames are refused.
func (k *connection) slowDown() {
	if k.incoming.refused.Load() <= freeRefusals {
		return
	}
	select {
	case <-time.After(refusalDelay):
	case <-k.ctx.Done():
	}
}

// refuse tells the client what is wrong with a frame.
func (k *connection) refuse(f clientFrame, err error) {
	k.incoming.refused.Add(1)
	refused := refusalFrame(f.ID, err)
	refused.Frame = excerpt.Of(f.Type, 40)
	if f.Type == "fork" {
		refused.As = f.As
	}
	k.send(k.ctx, refused)
}

// handle acts on one frame, or has it acted on beside the reader. Whatever is wrong with it is told
// to the client, and ends nothing. release frees its memory.
func (k *connection) handle(body []byte, release func()) {
	var f clientFrame
	err := wire.Decode(body, &f)
	f.release = release
	beside := false
	if err == nil {
		beside, err = k.dispatch(f)
	}
	if !beside {
		k.conclude(f, err)
	}
}

// conclude releases a frame that was acted on, or refused with err.
func (k *connection) conclude(f clientFrame, err error) {
	f.release()
	if err != nil {
		k.refuse(f, err)
		return
	}
	k.incoming.refused.Store(0)
}

// counted are the frames that have something computed for an answer that goes on. They count less
// than a request does; what holds an answer or ends it counts nothing.
var counted = []string{"set", "inject", "rewind", "attach"}

// dispatch acts on a frame, which is concluded afterwards by the caller, or beside the reader.
func (k *connection) dispatch(f clientFrame) (beside bool, err error) {
	if f.Type == "authenticate" { // a client need not know that the server asks for no key
		k.send(k.ctx, authenticated)
		return false, nil
	}
	if f.Type == "generate" || f.Type == "fork" || f.Type == "attach" || f.Type == "watch" { // what goes on already may go on
		if err := k.client.allow(); err != nil {
			return false, err
		}
	}
	if slices.Contains(counted, f.Type) {
		if err := operation.From(k.ctx).Steer(); err != nil {
			return false, err
		}
	}
	if f.Type == "watch" {
		return false, k.watchEvery(f)
	}
	if f.ID == "" || len(f.ID) > maxID {
		return false, refusal.Invalid("id", "id must be a text of 1 to %d bytes", maxID)
	}
	switch f.Type {
	case "generate":
		err = k.generate(f)
	case "attach":
		err = k.attach(f)
	case "cancel", "pause", "resume", "set", "inject", "rewind", "fork":
		a := k.find(f.ID)
		switch {
		case a == nil:
			err = unknownID(f.ID)
		case f.Type == "cancel" && a.cancelPreparation():
			return false, nil
		case f.Type == "fork":
			err = k.fork(a, f)
		default:
			err = a.inTurn(func() { a.actOn(f) })
		}
	default:
		err = refusal.Invalid("type", "type is %q; it must be generate, cancel, pause, resume, set, inject, rewind, fork, attach or watch", excerpt.Of(f.Type, 40))
	}
	return err == nil, err
}

func (k *connection) find(id string) *answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}

// files are the pictures and sounds that a client has sent in binary frames. Requests on its
// connection name them, so they are kept until it ends, or until newer ones need their room.
type files struct {
	kept []file // the oldest first
	size int64  // bytes of all
}

type file struct {
	id      string
	data    []byte
	release func() // lets go of the frame's memory
}

// maxFiles is how many files of a connection are kept.
const maxFiles = 128

// put keeps a file, replaces one with the same id, and drops the oldest while there are too many
// files or bytes.
func (f *files) put(added file, most int64) {
	if i := slices.IndexFunc(f.kept, func(old file) bool { return old.id == added.id }); i >= 0 {
		f.drop(i, i+1)
	}
	f.kept, f.size = append(f.kept, added), f.size+int64(len(added.data))
	for len(f.kept) > maxFiles || len(f.kept) > 1 && f.size > most {
		f.drop(0, 1)
	}
}

func (f *files) drop(from, to int) {
	for _, dropped := range f.kept[from:to] {
		f.size -= int64(len(dropped.data))
		dropped.release()
	}
	f.kept = slices.Delete(f.kept, from, to)
}

// keep keeps the file of a binary frame: a byte that says how long its id is, the id, and the
// file. A connection keeps as many bytes as a frame may have.
func (k *connection) keep(frame []byte, release func()) error {
	n := 0
	if len(frame) > 0 {
		n = int(frame[0])
	}
	if n == 0 || n > maxID || len(frame) <= 1+n || !utf8.Valid(frame[1:1+n]) {
		return &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_frame", Field: "id",
			Message: "a binary frame must be a byte with the length of an id, from 1 to 128, then the id in UTF-8, then a file"}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files.put(file{string(frame[1 : 1+n]), frame[1+n:], release}, k.api.BodyLimit)
	return nil
}

// file is the file that was kept under an id; nil if there is none.
func (k *connection) file(id string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files.kept {
		if f.id == id {
			return f.data
		}
	}
	return nil
}
