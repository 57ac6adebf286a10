// SPDX-License-Identifier: MIT

package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testDevices = []Device{{Name: "CPU", Description: "a processor", Backend: "CPU", Kind: "cpu", Free: 1 << 30, Total: 2 << 30}}

// fakeGGML answers as ggml's server does, with what cannot be mistaken for a substitute.
type fakeGGML struct {
	conn    net.Conn
	words   error             // when it is closed
	before  func(command)     // called with each request before it is answered
	mangled map[command]int64 // how many bytes too many an answer has
	once    sync.Once
	work    sync.WaitGroup
}

// startFake starts a server; its Conn is the other end.
func startFake(f *fakeGGML) *fakeGGML {
	ours, theirs := net.Pipe()
	f.conn = theirs
	f.work.Go(func() {
		defer func() { _ = ours.Close() }()
		line, _ := json.Marshal(testDevices)
		if _, err := ours.Write(append(line, '\n')); err != nil {
			return
		}
		_ = f.serve(ours)
	})
	return f
}

func (f *fakeGGML) Conn() net.Conn { return f.conn }

func (f *fakeGGML) Close() error {
	f.once.Do(func() { _ = f.conn.Close(); f.work.Wait() })
	return f.words
}

var errFakeEnds = errors.New("the fake ends")

func (f *fakeGGML) serve(conn net.Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errFakeEnds
		}
	}()
	in := bufio.NewReader(conn)
	for {
		var header [requestHeader]byte
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return err
		}
		request := make([]byte, binary.LittleEndian.Uint64(header[1:]))
		if _, err := io.ReadFull(in, request); err != nil {
			return err
		}
		c := command(header[0])
		if f.before != nil {
			f.before(c)
		}
		size, answered := c.answerSize(request)
		if !answered {
			continue
		}
		size += uint64(f.mangled[c])
		answer := bytes.Repeat([]byte{0xab}, int(size))
		if c == hello {
			copy(answer, []byte{7, 0, 0, 0})
		}
		if _, err := conn.Write(append(binary.LittleEndian.AppendUint64(nil, size), answer...)); err != nil {
			return err
		}
	}
}

// ggmlClient asks as ggml's client does.
type ggmlClient struct{ conn io.ReadWriter }

func (c ggmlClient) send(cmd command, payload []byte) error {
	head := append([]byte{byte(cmd)}, binary.LittleEndian.AppendUint64(nil, uint64(len(payload)))...)
	_, err := c.conn.Write(append(head, payload...))
	return err
}

// ask sends a request and returns the answer, nil where there is none. It fails where ggml would
// end the process.
func (c ggmlClient) ask(cmd command, payload []byte) ([]byte, error) {
	if err := c.send(cmd, payload); err != nil {
		return nil, fmt.Errorf("%v: ggml would abort: %w", cmd, err)
	}
	due, answered := cmd.answerSize(payload)
	if !answered {
		return nil, nil
	}
	var header [answerHeader]byte
	if _, err := io.ReadFull(c.conn, header[:]); err != nil {
		return nil, fmt.Errorf("%v: ggml would abort: %w", cmd, err)
	}
	if size := binary.LittleEndian.Uint64(header[:]); size != due {
		return nil, fmt.Errorf("%v: ggml would abort: an answer of %d bytes, not %d", cmd, size, due)
	}
	answer := make([]byte, due)
	if _, err := io.ReadFull(c.conn, answer); err != nil {
		return nil, fmt.Errorf("%v: ggml would abort: %w", cmd, err)
	}
	return answer, nil
}

// tensor is a serialised tensor of so many rows of bytes.
func tensor(rows, stride uint32) []byte {
	t := make([]byte, tensorSize)
	binary.LittleEndian.PutUint32(t[tensorNE+12:], rows)
	binary.LittleEndian.PutUint32(t[tensorNB+12:], stride)
	return t
}

// read is a request for bytes of a tensor.
func read(size uint64) []byte {
	return binary.LittleEndian.AppendUint64(append(tensor(1, 1), make([]byte, 8)...), size)
}

// conversation has each command once.
func conversation() []struct {
	cmd     command
	payload []byte
} {
	type request = struct {
		cmd     command
		payload []byte
	}
	upload := append(tensor(1, 1), make([]byte, 9+100_000)...)
	return []request{
		{hello, make([]byte, capsSize)},
		{deviceCount, nil},
		{getDeviceMemory, make([]byte, 4)},
		{getAlignment, make([]byte, 4)},
		{getMaxSize, make([]byte, 4)},
		{getAllocSize, append(append(make([]byte, 4), tensor(3, 1000)...), make([]byte, 10*tensorSize)...)},
		{allocBuffer, make([]byte, 12)},
		{bufferGetBase, make([]byte, 8)},
		{bufferClear, make([]byte, 9)},
		{memsetTensor, append(tensor(1, 1), make([]byte, 17)...)},
		{initTensor, tensor(1, 1)},
		{setTensorHash, append(tensor(1, 1), make([]byte, 16)...)},
		{setTensor, upload},
		{graphCompute, make([]byte, 5000)},
		{copyTensor, append(tensor(1, 1), tensor(1, 1)...)},
		{graphRecompute, make([]byte, 4)},
		{getTensor, read(150_000)},
		{freeBuffer, make([]byte, 8)},
	}
}
