// SPDX-License-Identifier: MIT

package api

import (
	"compress/gzip"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// smallestPacked is how long an answer is, in bytes, that is worth packing: a packet or so.
const smallestPacked = 1024

// mostPacking is how many answers are packed at a time. Each needs about 1 MB for as long as its
// client takes to read it, so clients that read slowly must not have any number of them. What is
// more is sent as it is.
const mostPacking = 16

// newPackers makes the places of mostPacking writers. Each is made when it is first used.
func newPackers() chan *gzip.Writer {
	packers := make(chan *gzip.Writer, mostPacking)
	for range mostPacking {
		packers <- nil
	}
	return packers
}

// compress packs what compresses for clients that take gzip. What is flushed before smallestPacked
// bytes are written is a stream, of which nothing may wait, so it is sent as it comes.
func (s *service) compress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); !takesGzip(r.Header) || r.Header.Get("Range") != "" {
			return next(c)
		}
		w := &packedWriter{ResponseWriter: c.Response().Writer, packers: s.packers}
		c.Response().Writer = w
		defer w.release() // of a handler that panics too
		err := next(c)
		w.end()
		return err
	}
}

// takesGzip reports whether a request accepts an answer in gzip.
func takesGzip(h http.Header) bool {
	for _, value := range h.Values(echo.HeaderAcceptEncoding) {
		for one := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			n, err := strconv.ParseFloat(q, 64)
			return !found || err == nil && n > 0
		}
	}
	return false
}

// packedWriter packs an answer, once it is known to be of a type and a length that are worth it.
type packedWriter struct {
	http.ResponseWriter
	packers chan *gzip.Writer
	status  int    // that was written; 0: none yet
	held    []byte // the beginning of the answer, while it is too short to tell
	begun   bool   // status and held are sent
	zip     *gzip.Writer
}

// Unwrap gives package http the other methods of the writer.
func (p *packedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *packedWriter) WriteHeader(status int) {
	if status < http.StatusOK { // the answer proper follows, or another protocol
		p.ResponseWriter.WriteHeader(status)
		return
	}
	if p.status != 0 {
		return
	}
	p.status = status
	h := p.Header()
	if status == http.StatusNoContent || status == http.StatusNotModified || h.Get(echo.HeaderContentEncoding) != "" || !isCompressible(h.Get(echo.HeaderContentType)) {
		_ = p.begin(false)
		return
	}
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
}

// isCompressible reports whether answers of a type become much smaller. Events and lines of JSON
// are streams.
func isCompressible(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "application/json", "application/javascript", "image/svg+xml", "application/wasm":
		return true
	case "text/event-stream":
		return false
	}
	return strings.HasPrefix(kind, "text/")
}

// Write implements io.Writer.
func (p *packedWriter) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if !p.begun {
		if len(p.held)+len(b) < smallestPacked {
			p.held = append(p.held, b...)
			return len(b), nil
		}
		if err := p.begin(true); err != nil {
			return 0, err
		}
	}
	return p.write(b)
}

func (p *packedWriter) write(b []byte) (int, error) {
	if p.zip != nil {
		return p.zip.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// begin sends the header and what was held back.
func (p *packedWriter) begin(packed bool) error {
	p.begun = true
	if packed {
		p.take()
	}
	if p.zip != nil {
		p.Header().Del(echo.HeaderContentLength)
		p.Header().Set(echo.HeaderContentEncoding, "gzip")
	}
	p.ResponseWriter.WriteHeader(p.status)
	held := p.held
	p.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := p.write(held)
	return err
}

// take takes a place to pack, if one is free.
func (p *packedWriter) take() {
	select {
	case p.zip = <-p.packers:
	default:
		return
	}
	if p.zip == nil {
		p.zip, _ = gzip.NewWriterLevel(p.ResponseWriter, gzip.BestSpeed) // which is a level
		return
	}
	p.zip.Reset(p.ResponseWriter)
}

func (p *packedWriter) release() {
	if p.zip == nil {
		return
	}
	p.zip.Reset(io.Discard)
	p.packers <- p.zip
	p.zip = nil
}

// FlushError sends what is written so far, for http.ResponseController.
func (p *packedWriter) FlushError() error {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if !p.begun {
		if err := p.begin(false); err != nil {
			return err
		}
	}
	if p.zip != nil {
		if err := p.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// end sends what is left. A client that has gone needs none of it.
func (p *packedWriter) end() {
	if p.status != 0 && !p.begun {
		_ = p.begin(false)
	}
	if p.zip != nil {
		_ = p.zip.Close()
	}
}

// servePacked sends a file as it was packed when the page was built, beside it as NAME.gz, and
// reports whether it is there and the client takes it.
func servePacked(w http.ResponseWriter, r *http.Request, files fs.FS, name string) bool {
	packed, err := files.Open(name + ".gz")
	if err != nil {
		return false
	}
	defer func() { _ = packed.Close() }()
	w.Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	info, err := packed.Stat()
	if err != nil || info.IsDir() || !takesGzip(r.Header) || r.Header.Get("Range") != "" {
		return false
	}
	w.Header().Set(echo.HeaderContentType, mime.TypeByExtension(path.Ext(name)))
	w.Header().Set(echo.HeaderContentEncoding, "gzip")
	w.Header().Set(echo.HeaderContentLength, strconv.FormatInt(info.Size(), 10))
	_, _ = io.Copy(w, packed)
	return true
}
