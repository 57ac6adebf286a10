// SPDX-License-Identifier: MIT

package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/tools/must"
)

// ask sends a request over a connection of its own that takes little before it is read.
func (r *rig) ask(path, body string) net.Conn {
	r.t.Helper()
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(r.url, "http://")))(r.t)
	r.t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the server may have ended it
	must.Do(r.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	must.Get(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))(r.t)
	return conn
}

// Clients that never read their answers hold nothing for longer than the write timeout, whatever
// the answer is.
func TestAPI_WriteTimeout_NobodyReads(t *testing.T) {
	ended := make(chan operation.Record, 64)
	r := newRig(t, func(s *setup) {
		s.WriteTimeout = 10 * time.Millisecond
		s.Sinks = []func(operation.Record){func(o operation.Record) { ended <- o }}
	})
	text := strings.Repeat("a", 50<<10) // 1 MB of tokens, more than both sockets hold
	for range 5 {
		r.ask("/tokenize", `{"content":"`+text+`","with_pieces":true}`)
	}
	for range 5 {
		if o := <-ended; o.Route != "/tokenize" || o.Err == nil {
			t.Errorf("%s ended with %v", o.Route, o.Err)
		}
	}
}

// A client that reads gets all of its answer, and the next one over the same connection, however
// short the parts are that it reads.
func TestAPI_WriteTimeout_SlowReader(t *testing.T) {
	r := newRig(t, func(s *setup) { s.WriteTimeout = time.Hour })
	content := `{"content":"` + strings.Repeat("a", 5<<10) + `","with_pieces":true}`
	_, _, want := r.call(http.MethodPost, "/tokenize", content)
	conn := r.ask("/tokenize", content)
	for i := range 2 {
		answer := must.Get(http.ReadResponse(bufio.NewReader(iotest.OneByteReader(conn)), nil))(t)
		got, err := io.ReadAll(answer.Body)
		if err != nil || string(got) != want {
			t.Fatalf("answer %d has %d bytes, not %d: %v", i, len(got), len(want), err)
		}
		if i == 0 {
			must.Get(fmt.Fprintf(conn, "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(content), content))(t)
		}
	}
}

// deadlines is a connection that notes, for each write, whether it had a deadline of its own.
type deadlines struct {
	*httptest.ResponseRecorder
	fresh, limited bool
	sizes          []int
	fail           error
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.limited, d.fresh = !at.IsZero(), true
	return nil
}

func (d *deadlines) Write(b []byte) (int, error) {
	if !d.fresh || !d.limited {
		return 0, errors.New("a write without a deadline of its own")
	}
	d.fresh = false
	d.sizes = append(d.sizes, len(b))
	if len(d.sizes) == 3 && d.fail != nil {
		return 1, d.fail
	}
	return d.ResponseRecorder.Write(b)
}

// Each part of a long write has its own deadline, and between two writes there is none.
func TestPacedWriter_Write_PartByPart(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), paceSize/3)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	p := &pacedWriter{ResponseWriter: d, control: http.NewResponseController(d), timeout: time.Hour}
	if n, err := p.Write(text); n != len(text) || err != nil || !bytes.Equal(d.Body.Bytes(), text) || len(d.sizes) != 4 || d.limited {
		t.Errorf("%d of %d bytes, %v, in parts of %v, limited %v", n, len(text), err, d.sizes, d.limited)
	}
	if n, err := p.Write(nil); n != 0 || err != nil || d.limited {
		t.Errorf("nothing: %d, %v", n, err)
	}
	broken := errors.New("broken")
	d = &deadlines{ResponseRecorder: httptest.NewRecorder(), fail: broken}
	p = &pacedWriter{ResponseWriter: d, control: http.NewResponseController(d), timeout: time.Hour}
	if n, err := p.Write(text); n != 2*paceSize+1 || !errors.Is(err, broken) || d.limited {
		t.Errorf("a third part that fails: %d bytes, %v", n, err)
	}
}
