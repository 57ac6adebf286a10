// SPDX-License-Identifier: MIT

package remote

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// guard relays between ggml and a worker. ggml ends the process when the connection fails in the
// middle of a connection, so for ggml it never does: once the worker is lost, the guard answers in
// its place.
type guard struct {
	ggml    net.Conn // whose other end ggml has
	worker  *link
	version [helloSize]byte // what the worker answered to HELLO
	buffer  []byte
}

// run relays until ggml's end is closed.
func (g *guard) run() {
	g.buffer = make([]byte, maxFrame)
	for g.relay() == nil {
	}
}

// relay takes one request to the worker and its answer back. Its error is one of ggml's side;
// those of the worker's are the link's.
func (g *guard) relay() error {
	request := g.buffer[:requestHeader]
	if _, err := io.ReadFull(g.ggml, request); err != nil {
		return err
	}
	c, size := command(request[0]), binary.LittleEndian.Uint64(request[1:])
	n := min(size, headSize)
	request = g.buffer[:requestHeader+n]
	if _, err := io.ReadFull(g.ggml, request[requestHeader:]); err != nil {
		return err
	}
	head := append([]byte(nil), request[requestHeader:]...)
	if c == hello { // each of ggml's connections begins with it, the worker's connection has
		return g.answer(g.version[:])
	}
	_, _ = g.worker.Write(request)
	if err := g.pass(size - n); err != nil {
		return err
	}
	due, answered := c.answerSize(head)
	if !answered {
		return nil
	}
	return g.takeAnswer(c, head, due)
}

// pass takes so many bytes of a request to the worker, or to nobody if it is lost.
func (g *guard) pass(size uint64) error {
	for size > 0 {
		part := g.buffer[:min(size, uint64(len(g.buffer)))]
		n, err := g.ggml.Read(part)
		_, _ = g.worker.Write(part[:n])
		if size -= uint64(n); err != nil && size > 0 {
			return err
		}
	}
	return nil
}

// takeAnswer gives ggml the worker's answer, or what stands for it from where it breaks off.
func (g *guard) takeAnswer(c command, head []byte, due uint64) error {
	slow := time.AfterFunc(answerLimit, func() { g.worker.fail(errSlow) })
	defer slow.Stop()
	if !g.expect(c, due) {
		return g.substitute(c, head, due)
	}
	if c != getTensor { // small, and half of one and half of another would be neither
		answer := make([]byte, due)
		if _, err := io.ReadFull(g.worker, answer); err != nil {
			answer = c.substitute(head)
		}
		return g.answer(answer)
	}
	if err := g.announce(due); err != nil {
		return err
	}
	for due > 0 {
		n, err := g.worker.Read(g.buffer[:min(due, uint64(len(g.buffer)))])
		if _, err := g.ggml.Write(g.buffer[:n]); err != nil {
			return err
		}
		if due -= uint64(n); err != nil {
			return g.zeros(due)
		}
	}
	return nil
}

// expect reads how long the worker's answer is, and reports whether it is as long as it must be.
func (g *guard) expect(c command, due uint64) bool {
	var header [answerHeader]byte
	if _, err := io.ReadFull(g.worker, header[:]); err != nil {
		return false
	}
	if size := binary.LittleEndian.Uint64(header[:]); size != due {
		g.worker.fail(fmt.Errorf("it answered %v with %d bytes in place of %d", c, size, due))
		return false
	}
	return true
}

// substitute answers for a lost worker.
func (g *guard) substitute(c command, head []byte, due uint64) error {
	if c != getTensor {
		return g.answer(c.substitute(head))
	}
	if err := g.announce(due); err != nil {
		return err
	}
	return g.zeros(due)
}

func (g *guard) announce(size uint64) error {
	_, err := g.ggml.Write(binary.LittleEndian.AppendUint64(nil, size))
	return err
}

func (g *guard) answer(answer []byte) error {
	_, err := g.ggml.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(answer))), answer...))
	return err
}

func (g *guard) zeros(n uint64) error {
	clear(g.buffer)
	for n > 0 {
		part := g.buffer[:min(n, uint64(len(g.buffer)))]
		if _, err := g.ggml.Write(part); err != nil {
			return err
		}
		n -= uint64(len(part))
	}
	return nil
}
