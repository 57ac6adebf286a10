// SPDX-License-Identifier: MIT

package socket

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// kept is what stays of an answer that has ended: its frames. They need neither its model nor its
// stream.
type kept struct {
	frames []keptFrame
	events int64
	bytes  int64
}

// keptFrame is a frame that waits for its client.
type keptFrame struct {
	seq   int64      // of its event; −1: it is sent whatever the client has seen
	data  []byte     // without the client's name of the answer
	parts *keptParts // in the place of data: what the answer gained up to its event, taken apart; nil elsewhere
}

// keptParts is what a parts frame tells.
type keptParts struct {
	delta completion.Delta
	reset bool // it has all that came before, too
}

// keptStream stands for the stream of an answer that is kept.
type keptStream struct {
	serving.Stream
	name string
}

// ID implements serving.Stream.
func (s keptStream) ID() string { return s.name }

// Cancel implements serving.Stream.
func (keptStream) Cancel() {}

// keep keeps only the frames of an answer that has ended, and releases its model. Who still reads
// it has that done at its end.
func (d *detachable) keep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.reader.released:
	default:
		return
	}
	if d.request == nil || d.forgot.Load() || d.stream.Attach(-1) != nil {
		return
	}
	frames, err := d.frames()
	if err != nil {
		return // it stays until its time is up
	}
	free := d.free
	last := &answer{connection: d.reader.connection, stop: d.reader.stop, released: d.reader.released, ended: true}
	last.told.Store(d.reader.told.Load())
	d.reader, d.stream, d.request, d.free = last, nil, nil, func() {}
	d.paused.Store(false)
	d.all.keep(d, frames)
	free()
}

// frames makes all frames of an answer, which has ended.
func (d *detachable) frames() (*kept, error) {
	a := &answer{connection: &connection{api: d.api}, stream: d.stream, choice: &completion.Choice{Request: d.request}, seed: d.seed}
	if d.parts {
		var err error
		if a.parts, err = newParts(d.request.Prompted, true); err != nil {
			return nil, err
		}
		defer a.parts.close()
	}
	k, taken := &kept{}, int64(0)
	for {
		e, err := d.stream.Next(context.Background()) // the end is there, or comes just now
		if err != nil {
			return nil, err
		}
		k.events = int64(e.Seq) + 1
		if a.parts != nil {
			a.parts.take(e)
		}
		if e.Kind != scheduler.KindEnd {
			err = k.add(int64(e.Seq), a.frameOf(e))
			if err == nil && a.parts != nil && k.events-taken >= max(16, k.events/16) { // each time all of it is parsed
				taken, err = k.events, k.addParts(a, int64(e.Seq))
			}
		} else {
			err = k.addEnd(a, e)
		}
		if err != nil || e.Kind == scheduler.KindEnd {
			return k, err
		}
	}
}

// addEnd adds what the end of an answer is told by. All of its parts come before that, since a
// client that comes back is told all.
func (k *kept) addEnd(a *answer, e scheduler.Event) error {
	if e.Text != "" {
		if err := k.add(int64(e.Seq), tokenFrame{Type: "token", Seq: e.Seq, Text: e.Text}); err != nil {
			return err
		}
	}
	if a.parts != nil {
		a.parts.failed = k.addParts(a, -1) // which the end frame tells
	}
	return k.add(-1, a.endFrame(e))
}

// addParts adds what the parts of an answer have gained up to an event.
func (k *kept) addParts(a *answer, seq int64) error {
	text, reset, ended := a.parts.next()
	take := a.parts.parser.Take
	if reset {
		take = a.parts.parser.Retake
	}
	d, err := take(text, ended)
	if err != nil {
		return err
	}
	if reset || !d.Empty() {
		k.frames = append(k.frames, keptFrame{seq: seq, parts: &keptParts{d, reset}})
		k.bytes += int64(2*len(text)) + 128
	}
	return nil
}

// partsUpTo are the parts for a client that has seen the events up to one: a frame with all up to
// the first parts after that event, so that the client's text never becomes shorter, and how many
// of the frames that is.
func (k *kept) partsUpTo(seen int64) (all completion.Delta, frames int) {
	for i, f := range k.frames {
		if f.parts == nil {
			continue
		}
		if f.parts.reset {
			all = completion.Delta{}
		}
		all.Content += f.parts.delta.Content
		all.Reasoning += f.parts.delta.Reasoning
		all.Calls = append(all.Calls, f.parts.delta.Calls...)
		if frames = i + 1; f.seq < 0 || f.seq > seen {
			break
		}
	}
	return all, frames
}

func (k *kept) add(seq int64, frame any) error {
	data, err := json.Marshal(frame)
	k.frames = append(k.frames, keptFrame{seq: seq, data: data})
	k.bytes += int64(len(data)) + 40 // the entry
	return err
}

// named is the frame for a client that calls the answer id. The name is the second field of each
// frame.
func (f keptFrame) named(id string) json.RawMessage {
	name, _ := json.Marshal(id) // a text
	return bytes.Replace(f.data, []byte(`"id":""`), append([]byte(`"id":`), name...), 1)
}

// replay sends the frames of an answer that is kept.
func (a *answer) replay(ctx context.Context) {
	all, told := a.kept.partsUpTo(a.after)
	if told > 0 && !a.connection.send(ctx, partsOf(all, a.id, true)) {
		return
	}
	for i, f := range a.kept.frames {
		sent := true
		switch {
		case f.parts != nil:
			if i >= told {
				sent = a.connection.send(ctx, partsOf(f.parts.delta, a.id, f.parts.reset))
			}
		case f.seq >= 0 && f.seq <= a.after:
		case i == len(a.kept.frames)-1:
			sent = a.sendEnd(ctx, f.named(a.id))
		default:
			sent = a.connection.send(ctx, f.named(a.id))
		}
		if !sent {
			return
		}
	}
}

// noted counts what an event takes that is kept for other readers. An answer that takes too much
// goes on, but is not kept.
func (d *detachable) noted(e scheduler.Event) {
	if d.forgot.Load() || e.Seq < d.counted {
		return
	}
	const step = 4 << 10
	d.counted = e.Seq + 1
	if d.pending += bytesOf(e); d.pending < step {
		return
	}
	if d.all.grow(d, d.pending) {
		d.pending = 0
		return
	}
	d.forgot.Store(true)
	d.all.remove(d)
	d.stream.Forget()
}

// bytesOf is what an event takes in a stream, about.
func bytesOf(e scheduler.Event) int64 {
	n := 40 + len(e.Text)
	if e.Logprobs != nil {
		n += 64 + 8*len(e.Logprobs.Top)
	}
	for _, t := range e.Prompt {
		n += 64 + 8*len(t.Logprobs.Top)
	}
	if e.Output != nil {
		n += 64 + len(e.Output.Value)
	}
	if e.Rewound != nil {
		n += 64 + len(e.Rewound.Text)
	}
	if e.Branches != nil {
		for _, g := range e.Branches.Grown {
			n += 128 + 8*len(g.Tokens)
		}
	}
	return int64(n) + bytesOfTrace(e.Trace)
}

func bytesOfTrace(t *chain.Trace) int64 {
	if t == nil {
		return 0
	}
	const candidate = 16
	n := int64(256 + candidate*len(t.Before.Best) + 64*len(t.Prepared) + 32*len(t.Accepted))
	for _, note := range t.Notes {
		n += int64(32 + len(note.Text))
	}
	for _, s := range t.Stages {
		n += int64(96 + candidate*len(s.After.Best))
	}
	for _, back := range t.TakenBack {
		for _, token := range back.Tokens {
			n += 32 + bytesOfTrace(token.Trace)
		}
	}
	return n
}
