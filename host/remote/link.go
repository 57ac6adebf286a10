// SPDX-License-Identifier: MIT

package remote

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A frame is a byte that says its kind, four that say the length of what follows, little endian,
// and that.
const (
	frameHeader = 5
	maxFrame    = 64 << 10
)

type frameKind byte

const (
	helloFrame frameKind = 0xd1 + iota // JSON: the first of each side
	dataFrame                          // bytes of ggml's protocol
	pingFrame                          // empty: a sign of life
	endFrame                           // why the sender ends the connection, as text
)

// tlsAlert and tlsHandshake are how TLS begins where a frame is expected.
const (
	tlsAlert     = 0x15
	tlsHandshake = 0x16
)

// link carries bytes over a connection in frames. Once begun it sends signs of life and expects
// them. It implements io.ReadWriter for one reader and one writer. After it has failed, all of its
// methods return why.
type link struct {
	conn net.Conn

	writing chan struct{} // full while a frame is written
	frame   []byte        // that is written

	data   *io.PipeReader
	arrive *io.PipeWriter
	failed chan struct{}
	once   sync.Once
	ending sync.Once
	living sync.Once
	cause  error // once failed is closed
	work   sync.WaitGroup
}

func newLink(conn net.Conn) *link {
	l := &link{conn: conn, writing: make(chan struct{}, 1), frame: make([]byte, frameHeader+maxFrame), failed: make(chan struct{})}
	l.data, l.arrive = io.Pipe()
	return l
}

// begin starts to read data and to exchange signs of life.
func (l *link) begin() {
	l.work.Go(l.readAll)
	l.startPinging()
}

// startPinging starts to send signs of life, without expecting any.
func (l *link) startPinging() { l.living.Do(func() { l.work.Go(l.ping) }) }

// fail ends the link for a reason; only the first counts. With TLS, the connection below it is
// closed, since TLS would first send a message to a peer that may not be reading.
func (l *link) fail(err error) {
	l.once.Do(func() {
		l.cause = err
		close(l.failed)
		_ = l.arrive.CloseWithError(err)
		_ = l.data.CloseWithError(err)
		if secured, ok := l.conn.(*tls.Conn); ok {
			_ = secured.NetConn().Close()
			return
		}
		_ = l.conn.Close()
	})
}

// end tells the peer why the connection ends, and fails; only the first reason counts. What the
// peer still sends is read until it has closed the connection: closing it with bytes unread would
// make the system throw away the reason too.
func (l *link) end(reason string) {
	l.ending.Do(func() {
		_ = l.conn.SetWriteDeadline(time.Now().Add(endLimit)) // which also frees a writer that waits
		_ = l.send(endFrame, []byte(reason[:min(len(reason), maxFrame)]))
		_ = l.data.CloseWithError(errClosed)
		select {
		case <-l.failed:
		case <-time.After(endLimit):
			l.fail(errClosed)
		}
	})
}

// close fails the link, if it has not, and waits for its goroutines.
func (l *link) close() {
	l.fail(errClosed)
	l.work.Wait()
}

// err is why the link failed; nil while it has not.
func (l *link) err() error {
	select {
	case <-l.failed:
		return l.cause
	default:
		return nil
	}
}

// send writes a frame when it is its turn.
func (l *link) send(kind frameKind, payload []byte) error {
	select {
	case l.writing <- struct{}{}:
		return l.write(kind, payload)
	case <-l.failed:
		return l.cause
	}
}

// write writes a frame whose turn it is.
func (l *link) write(kind frameKind, payload []byte) error {
	defer func() { <-l.writing }()
	l.frame[0] = byte(kind)
	binary.LittleEndian.PutUint32(l.frame[1:], uint32(len(payload)))
	n := copy(l.frame[frameHeader:], payload)
	if _, err := l.conn.Write(l.frame[:frameHeader+n]); err != nil {
		return explainError(err)
	}
	return nil
}

// Write sends data.
func (l *link) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), maxFrame)]
		if err := l.send(dataFrame, part); err != nil {
			l.fail(err)
			return n, l.cause
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// Read returns data that has arrived.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.data.Read(p)
	if failed := l.err(); err != nil && failed != nil {
		err = failed
	}
	return n, err
}

// receive reads one frame into a buffer of maxFrame bytes. Only the wait for it is limited, not
// that for what is done with it: who is slow to take data does not make the peer gone.
func (l *link) receive(into []byte, limit time.Duration) (frameKind, []byte, error) {
	if err := l.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return 0, nil, explainError(err)
	}
	var header [frameHeader]byte
	if _, err := io.ReadFull(l.conn, header[:1]); err != nil {
		return 0, nil, explainError(err)
	}
	switch kind := frameKind(header[0]); {
	case header[0] == tlsAlert || header[0] == tlsHandshake:
		return 0, nil, errTLS
	case kind < helloFrame || kind > endFrame:
		return 0, nil, errNoFrame
	}
	if _, err := io.ReadFull(l.conn, header[1:]); err != nil {
		return 0, nil, explainError(err)
	}
	size := binary.LittleEndian.Uint32(header[1:])
	if size > maxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", errNoFrame, size)
	}
	if _, err := io.ReadFull(l.conn, into[:size]); err != nil {
		return 0, nil, explainError(err)
	}
	return frameKind(header[0]), into[:size], nil
}

// readAll reads frames until the link fails.
func (l *link) readAll() {
	buffer := make([]byte, maxFrame)
	for {
		kind, payload, err := l.receive(buffer, silence)
		if err != nil {
			l.fail(err)
			return
		}
		switch kind {
		case pingFrame:
		case dataFrame:
			_, _ = l.arrive.Write(payload) // to nobody once the connection ends
		case endFrame:
			l.fail(errors.New(string(payload)))
			return
		default:
			l.fail(errNoFrame)
			return
		}
	}
}

// ping sends signs of life until the link fails. While data is on its way none is needed: the data
// is one.
func (l *link) ping() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.failed:
			return
		case <-ticker.C:
		}
		select {
		case l.writing <- struct{}{}:
			if err := l.write(pingFrame, nil); err != nil {
				l.fail(err)
				return
			}
		default:
		}
	}
}

// protocol counts the changes of what stands in frames.
const protocol = 1

// hostHello is a host's first frame.
type hostHello struct {
	Protocol int    `json:"protocol"`
	Llama    string `json:"llama.cpp"` // version
	Host     string `json:"host"`      // one process: a worker serves the models of one
	Name     string `json:"name"`      // of its machine, for people
}

// workerHello is the worker's answer.
type workerHello struct {
	Llama   string   `json:"llama.cpp"`
	Devices []Device `json:"devices"`
}

// refusal is why a worker does not serve a host; empty: it does. Both sides must have the same
// llama.cpp, because graphs are sent as its structures lie in memory, with the numbers of its
// operations.
func (h hostHello) refusal(llama string) string {
	switch {
	case h.Protocol != protocol:
		return fmt.Sprintf("the host speaks version %d of the worker protocol and this worker version %d; run the same release of Penstock on both", h.Protocol, protocol)
	case h.Llama != llama:
		return fmt.Sprintf("the host has llama.cpp %s and this worker %s; run the same release of Penstock on both", h.Llama, llama)
	}
	return ""
}

func (l *link) sendHello(hello any) error {
	text, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return fmt.Errorf("a greeting of %d bytes; there may be %d", len(text), maxFrame)
	}
	return l.send(helloFrame, text)
}

// receiveHello reads the peer's first frame but for signs of life.
func (l *link) receiveHello(hello any, limit time.Duration) error {
	begin, buffer := time.Now(), make([]byte, maxFrame)
	kind, payload, err := l.receive(buffer, min(limit, silence))
	for err == nil && kind == pingFrame {
		kind, payload, err = l.receive(buffer, min(limit-time.Since(begin), silence))
	}
	switch {
	case err != nil:
		return err
	case kind == endFrame:
		return &refused{string(payload)}
	case kind != helloFrame:
		return errNoFrame
	}
	if err := json.Unmarshal(payload, hello); err != nil {
		return fmt.Errorf("%w: %w", errNoFrame, err)
	}
	return nil
}

// refused is what a peer said when it ended the connection at its beginning.
type refused struct{ reason string }

func (r *refused) Error() string        { return r.reason }
func (r *refused) Is(target error) bool { return target == ErrRefused }
