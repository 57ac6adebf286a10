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
	if err := g.passOn(size - n); err != nil {
		return err
	}
	due, answered := c.answerSize(head)
	if !answered {
		return nil
	}
	return g.takeAnswer(c, head, due)
}

// passOn hands size bytes of a request on to the worker, or to nobody if it is lost.
func (g *guard) passOn(size uint64) error {
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
	if !g.readAnswerSize(c, due) {
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

// readAnswerSize reads how long the worker's answer is, and reports whether it is as long as it
// must be.
func (g *guard) readAnswerSize(c command, due uint64) bool {
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

// command is a command of ggml's RPC protocol, version 7. A request is its byte, the size of what
// follows in eight bytes, and that; an answer is the size in eight bytes, and what it counts.
// Everything is little endian.
type command byte

// The commands, by ggml's numbers.
const (
	allocBuffer command = iota
	getAlignment
	getMaxSize
	bufferGetBase
	freeBuffer
	bufferClear
	setTensor
	setTensorHash
	getTensor
	copyTensor
	graphCompute
	getDeviceMemory
	initTensor
	getAllocSize
	hello
	deviceCount
	graphRecompute
	memsetTensor
	noCommand
)

var commandNames = [...]string{"ALLOC_BUFFER", "GET_ALIGNMENT", "GET_MAX_SIZE", "BUFFER_GET_BASE", "FREE_BUFFER", "BUFFER_CLEAR", "SET_TENSOR",
	"SET_TENSOR_HASH", "GET_TENSOR", "COPY_TENSOR", "GRAPH_COMPUTE", "GET_DEVICE_MEMORY", "INIT_TENSOR", "GET_ALLOC_SIZE", "HELLO", "DEVICE_COUNT",
	"GRAPH_RECOMPUTE", "MEMSET_TENSOR"}

func (c command) String() string {
	if int(c) < len(commandNames) {
		return commandNames[c]
	}
	return "unknown command"
}

const (
	requestHeader = 9
	answerHeader  = 8
	capsSize      = 24 // of HELLO: what else than TCP a side can do
	helloSize     = 4 + capsSize
	versionSize   = 3 // of HELLO's answer: the numbers of the protocol's version

	tensorSize    = 296 // of a serialised tensor
	tensorNE      = 20  // in it: four lengths
	tensorNB      = 36  // and four strides in bytes
	getTensorSize = tensorSize + 16
	allocSizeHead = 4 + tensorSize // device and tensor; those that it is computed from follow

	// What of a request the guard may look at.
	headSize = getTensorSize
)

// answers are the sizes of the commands' answers; other commands have none. That of getTensor
// stands in its request.
var answers = map[command]uint64{
	allocBuffer: 16, getAlignment: 8, getMaxSize: 8, bufferGetBase: 8, setTensorHash: 1, getTensor: 0, copyTensor: 1, getDeviceMemory: 16,
	getAllocSize: 8, hello: helloSize, deviceCount: 4,
}

// answerSize is how long the answer to a request must be, if there is one. head is the request's
// beginning.
func (c command) answerSize(head []byte) (size uint64, answered bool) {
	if c == getTensor && len(head) >= getTensorSize {
		return binary.LittleEndian.Uint64(head[tensorSize+8:]), true
	}
	size, answered = answers[c]
	return size, answered
}

// fakeBase is where the buffers of a lost worker are said to begin: nobody follows such an address
// here, but ggml wants one that is aligned and not null.
const fakeBase = 1 << 32

// substitute is what ggml is answered in a lost worker's place, with which it goes on without
// harm: no memory is left, so what is being loaded fails; all that is sent is accepted; and all
// that is computed is zero, which the host does not use.
func (c command) substitute(head []byte) []byte {
	size, _ := c.answerSize(head)
	answer := make([]byte, size)
	switch c {
	case getAlignment:
		binary.LittleEndian.PutUint64(answer, 128)
	case getMaxSize:
		binary.LittleEndian.PutUint64(answer, 1<<62)
	case bufferGetBase:
		binary.LittleEndian.PutUint64(answer, fakeBase)
	case setTensorHash, copyTensor: // it has the tensor already, so that no gigabytes are sent to nobody; and it has copied
		answer[0] = 1
	case getDeviceMemory: // shares of layers are divided by the sum
		binary.LittleEndian.PutUint64(answer, 1)
		binary.LittleEndian.PutUint64(answer[8:], 1)
	case getAllocSize:
		if len(head) >= allocSizeHead {
			tensor := head[4:]
			length, stride := binary.LittleEndian.Uint32(tensor[tensorNE+12:]), binary.LittleEndian.Uint32(tensor[tensorNB+12:])
			binary.LittleEndian.PutUint64(answer, uint64(length)*uint64(stride))
		}
	}
	return answer
}
