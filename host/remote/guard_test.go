// SPDX-License-Identifier: MIT

package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// cutConn fails once so many bytes have gone either way.
type cutConn struct {
	net.Conn
	left atomic.Int64
}

func (c *cutConn) cut(n int, err error) (int, error) {
	if c.left.Add(-int64(n)) < 0 {
		_ = c.Close()
		return 0, errors.New("cut")
	}
	return n, err
}

func (c *cutConn) Read(p []byte) (int, error) { return c.cut(c.Conn.Read(p[:min(len(p), 1<<10)])) }

func (c *cutConn) Write(p []byte) (int, error) { return c.cut(c.Conn.Write(p)) }

// guarded connects a client with a fake server over a guard, whose connection is cut after so many
// bytes.
func guarded(t *testing.T, f *fakeGGML, after int64) (ggmlClient, *link) {
	near, far := net.Pipe()
	cut := &cutConn{Conn: near}
	cut.left.Store(after)
	ours, theirs := newLink(cut), newLink(far)
	ours.begin()
	theirs.begin()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.serve(linkConn{far, theirs})
		theirs.fail(errFakeEnds)
	}()
	client, socket := net.Pipe()
	g := guard{ggml: socket, worker: ours}
	copy(g.version[:], []byte{7, 0, 0})
	ended := make(chan struct{})
	go func() { defer close(ended); g.run() }()
	t.Cleanup(func() {
		_ = client.Close()
		<-ended
		ours.close()
		theirs.close()
		<-done
	})
	return ggmlClient{client}, ours
}

// linkConn is a link where a net.Conn is asked for.
type linkConn struct {
	net.Conn
	*link
}

func (c linkConn) Read(p []byte) (int, error)  { return c.link.Read(p) }
func (c linkConn) Write(p []byte) (int, error) { return c.link.Write(p) }

func TestGuard_Relays(t *testing.T) {
	client, l := guarded(t, &fakeGGML{}, 1<<40)
	for _, r := range conversation() {
		answer := must.Get(client.ask(r.cmd, r.payload))(t)
		if r.cmd != hello && bytes.Count(answer, []byte{0xab}) != len(answer) {
			t.Errorf("%v: the answer is not the worker's", r.cmd)
		}
	}
	if err := l.err(); err != nil {
		t.Error(err)
	}
}

// Wherever the connection breaks off, ggml gets an answer to each request, of the right size, to
// the end and after it.
func TestGuard_Lost(t *testing.T) {
	for after := int64(0); after < 300_000; after += 1 + after/10 {
		client, l := guarded(t, &fakeGGML{}, after)
		for range 2 {
			for _, r := range conversation() {
				if _, err := client.ask(r.cmd, r.payload); err != nil {
					t.Fatalf("cut after %d bytes: %v", after, err)
				}
			}
		}
		if l.err() == nil {
			t.Fatalf("cut after %d bytes: nobody noticed", after)
		}
	}
}

// What a worker answers is not trusted to have the size that it must have.
func TestGuard_WrongSize(t *testing.T) {
	for c := range answers {
		if c == hello {
			continue
		}
		client, l := guarded(t, &fakeGGML{mangled: map[command]int64{c: 1}}, 1<<40)
		for _, r := range conversation() {
			if _, err := client.ask(r.cmd, r.payload); err != nil {
				t.Fatalf("%v is too long: %v", c, err)
			}
		}
		if l.err() == nil {
			t.Errorf("nobody noticed that the answer to %v is too long", c)
		}
	}
}

func TestCommand_Substitute(t *testing.T) {
	number := func(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
	if got := number(getAlignment.substitute(nil)); got == 0 || got&(got-1) != 0 {
		t.Errorf("the alignment is %d, no power of two", got)
	}
	if got := number(bufferGetBase.substitute(nil)); got == 0 || got%number(getAlignment.substitute(nil)) != 0 {
		t.Errorf("buffers begin at %d, null or not aligned", got)
	}
	if got := number(allocBuffer.substitute(nil)); got != 0 {
		t.Error("a buffer was had of nobody")
	}
	if got := number(getAllocSize.substitute(append(make([]byte, 4), tensor(3, 1000)...))); got != 3000 {
		t.Errorf("a tensor of 3000 bytes takes %d", got)
	}
	if got := number(getDeviceMemory.substitute(nil)); got == 0 {
		t.Error("a device without memory: llama.cpp divides by the sum")
	}
}
