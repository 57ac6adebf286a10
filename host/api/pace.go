// SPDX-License-Identifier: MIT

package api

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// paceSize is how many bytes a client must take within the write timeout.
const paceSize = 16 << 10

// paceAnswer ends every answer of which its client reads nothing for WriteTimeout: one that nobody
// reads would hold its handler, its model and its memory forever. An answer that is read slowly
// takes as long as it takes, and so does one of which nothing is written yet.
func (s *service) paceAnswer(next echo.HandlerFunc) echo.HandlerFunc {
	if s.WriteTimeout <= 0 {
		return next
	}
	return func(c echo.Context) error {
		w := c.Response().Writer
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: s.WriteTimeout}
		c.Response().Writer = p
		p.lift()        // that of the connection's last request
		defer p.limit() // for what net/http still has to write
		return next(c)
	}
}

// pacedWriter gives each part of an answer its own deadline.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// What http.ResponseController looks for.
var _ interface {
	Unwrap() http.ResponseWriter
	FlushError() error
} = (*pacedWriter)(nil)

// Unwrap gives package http the other methods of the writer.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (n int, err error) {
	defer p.lift()
	for {
		part := b[n:min(len(b), n+paceSize)]
		p.limit()
		m, err := p.ResponseWriter.Write(part)
		if n += m; err != nil || n == len(b) {
			return n, err
		}
		if m < len(part) {
			return n, io.ErrShortWrite
		}
	}
}

// FlushError writes out what is buffered, for http.ResponseController.
func (p *pacedWriter) FlushError() error {
	defer p.lift()
	p.limit()
	return p.control.Flush()
}

// A test's recorder knows no deadlines, and a connection that was taken over has its own.
func (p *pacedWriter) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) }
func (p *pacedWriter) lift()  { _ = p.control.SetWriteDeadline(time.Time{}) }
