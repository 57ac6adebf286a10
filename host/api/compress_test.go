// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/tools/must"
)

var longText = strings.Repeat("a word, ", 1000)

// packing answers a request through compress.
func packing(s *service, handler echo.HandlerFunc, headers ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	_ = s.compress(handler)(echo.New().NewContext(r, w))
	return w
}

// says writes a text of a type in pieces.
func says(kind, text string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Content-Type", kind)
		c.Response().WriteHeader(http.StatusOK)
		for piece := range strings.SplitAfterSeq(text, " ") {
			if _, err := c.Response().Write([]byte(piece)); err != nil {
				return err
			}
		}
		return nil
	}
}

// plain is what a client reads of an answer, and whether that came packed.
func plain(t *testing.T, w *httptest.ResponseRecorder) (text string, packed bool) {
	t.Helper()
	var body io.Reader = w.Body
	if packed = w.Header().Get("Content-Encoding") == "gzip"; packed {
		z := must.Get(gzip.NewReader(w.Body))(t)
		body = z
	}
	all := must.Get(io.ReadAll(body))(t)
	return string(all), packed
}

func TestCompress_WhatCompresses(t *testing.T) {
	for name, c := range map[string]struct {
		kind, text, accept string
		packed             bool
	}{
		"long JSON":        {"application/json", longText, "br, gzip;q=0.8", true},
		"long text":        {"text/plain; charset=UTF-8", longText, "GZIP", true},
		"just long enough": {"application/json", longText[:smallestPacked], "gzip", true},
		"too short":        {"application/json", longText[:smallestPacked-1], "gzip", false},
		"empty":            {"application/json", "", "gzip", false},
		"another encoding": {"application/json", longText, "br, deflate", false},
		"refused":          {"application/json", longText, "gzip; q=0", false},
		"a wrong weight":   {"application/json", longText, "gzip;q=x", false},
		"not asked for":    {"application/json", longText, "", false},
		"events":           {"text/event-stream", longText, "gzip", false},
		"lines of JSON":    {"application/x-ndjson", longText, "gzip", false},
		"a picture":        {"image/png", longText, "gzip", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := packing(&service{packers: newPackers()}, says(c.kind, c.text), "Accept-Encoding", c.accept)
			size := w.Body.Len()
			text, packed := plain(t, w)
			if text != c.text || packed != c.packed || packed && size >= len(text) {
				t.Errorf("%d of %d bytes, packed: %v, want %v", len(text), len(c.text), packed, c.packed)
			}
		})
	}
}

func TestCompress_OfAPart_IsAsItIs(t *testing.T) {
	w := packing(&service{packers: newPackers()}, says("application/json", longText), "Accept-Encoding", "gzip", "Range", "bytes=0-4")
	if _, packed := plain(t, w); packed {
		t.Error("a part of a packed answer is no part of the answer")
	}
}

// The length of what was to be sent is not the length of what is.
func TestCompress_Length_IsOfWhatIsSent(t *testing.T) {
	handler := func(c echo.Context) error {
		c.Response().Header().Set("Content-Length", strconv.Itoa(len(longText)))
		return says("application/json", longText)(c)
	}
	for accept, want := range map[string]string{"gzip": "", "identity": strconv.Itoa(len(longText))} {
		w := packing(&service{packers: newPackers()}, handler, "Accept-Encoding", accept)
		if got := w.Header().Get("Content-Length"); got != want {
			t.Errorf("%s: Content-Length %q, want %q", accept, got, want)
		}
	}
}

// What is flushed before there is much of it is a stream, of which each piece comes at once.
func TestCompress_Flushed_IsNotHeldBack(t *testing.T) {
	w := httptest.NewRecorder()
	p := &packedWriter{ResponseWriter: w, packers: newPackers()}
	p.Header().Set("Content-Type", "application/json")
	for _, piece := range []string{"one", "two"} {
		_, _ = p.Write([]byte(piece))
		must.Do(t, p.FlushError())
		if !strings.HasSuffix(w.Body.String(), piece) {
			t.Errorf("%q was held back", piece)
		}
	}
	p.end()
}

// Clients that read slowly hold few places, and others then get their answers as they are.
func TestCompress_NoPlaceFree_IsAsItIs(t *testing.T) {
	s := &service{packers: newPackers()}
	for range mostPacking {
		<-s.packers
	}
	if text, packed := plain(t, packing(s, says("application/json", longText), "Accept-Encoding", "gzip")); packed || text != longText {
		t.Errorf("packed: %v, %d bytes", packed, len(text))
	}
}

func TestCompress_GivesPlacesBack(t *testing.T) {
	s := &service{packers: newPackers()}
	for range mostPacking + 1 {
		if text, packed := plain(t, packing(s, says("application/json", longText), "Accept-Encoding", "gzip")); !packed || text != longText {
			t.Fatalf("packed: %v, %d bytes", packed, len(text))
		}
		func() {
			defer func() { _ = recover() }()
			packing(s, func(c echo.Context) error {
				_ = says("application/json", longText)(c)
				panic(http.ErrAbortHandler)
			}, "Accept-Encoding", "gzip")
		}()
	}
}

// The page's files are packed when the page is built, and go out as they were packed.
func TestAPI_Page_PackedFiles(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("packed")); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(s *setup) {
		s.UI = fstest.MapFS{"index.html": {Data: []byte("<p>")}, "assets/a.js": {Data: []byte("plain")}, "assets/a.js.gz": {Data: packed.Bytes()}}
	})
	for accept, want := range map[string]string{"gzip": packed.String(), "identity": "plain"} {
		_, header, body := r.call(http.MethodGet, "/assets/a.js", "", "Accept-Encoding", accept)
		if body != want || !strings.HasPrefix(header.Get("Content-Type"), "text/javascript") || header.Get("Vary") != "Accept-Encoding" ||
			!strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %q %v", accept, body, header)
		}
		status, header, body := r.call(http.MethodHead, "/assets/a.js", "", "Accept-Encoding", accept)
		if status != http.StatusOK || body != "" || header.Get("Content-Length") != strconv.Itoa(len(want)) {
			t.Errorf("HEAD, %s: %d %q, Content-Length %q, want %d", accept, status, body, header.Get("Content-Length"), len(want))
		}
	}
}
