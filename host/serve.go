// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/host/api"
)

// Limits that are not configured. Answers have none: they take as long as they take.
const (
	headerLimit = 64 << 10 // bytes
	partingTime = 3 * time.Second
)

// page opens the files that are served in the place of a page: those of server.ui_dir, if it is
// set and a page is served at all. Links that lead out of the folder are not followed.
func (h *Host) page(ui fs.FS) (fs.FS, error) {
	s := h.config.Server
	if !s.UI || s.UIDir == "" {
		return ui, nil
	}
	var err error
	if h.files, err = os.OpenRoot(s.UIDir); err != nil {
		return nil, fmt.Errorf("open the files to serve (server.ui_dir): %w", err)
	}
	return h.files.FS(), nil
}

// serve answers requests on the listener from now on.
func (h *Host) serve() {
	base, abort := context.WithCancel(context.Background())
	h.abort = abort
	h.handle(http.HandlerFunc(h.stillLoading))
	h.server = &http.Server{
		Handler:           h.Handler(),
		ReadHeaderTimeout: h.config.Server.HeaderTimeout,
		IdleTimeout:       h.config.Server.IdleTimeout,
		WriteTimeout:      h.config.Server.WriteTimeout,                                      // until the API takes over, which gives each part of an answer as long
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: h.config.Server.WriteTimeout}, // for its connections, which many streams share
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	go func() {
		if err := h.server.Serve(h.encrypted()); !errors.Is(err, http.ErrServerClosed) {
			h.served <- err
		}
	}()
}

func (h *Host) handle(handler http.Handler) { h.handler.Store(&handler) }

// answer counts the request, so that Close can wait for it, WebSockets included.
func (h *Host) answer(w http.ResponseWriter, r *http.Request) {
	h.requests.add()
	defer h.requests.done()
	if !h.accepts.Load() { // the next request of a proxy is to find a server that takes it, on a connection that stays
		w.Header().Set("Connection", "close")
	}
	if r.ContentLength != 0 { // else a client may take as long as it likes; a handler that has read the body lifts it
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.config.Server.BodyTimeout)) // test recorders have none
	}
	if h.checksHosts() && !h.allowsHost(r.Host) {
		refuseHost(w, r.Host)
		return
	}
	(*h.handler.Load()).ServeHTTP(w, r)
}

// stillLoading answers while the model is loaded. The page is there already: it shows how far the
// model is, and goes on by itself.
func (h *Host) stillLoading(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, h.config.Server.APIPrefix)
	if below && path == "/livez" {
		_, _ = w.Write([]byte("ok\n")) // a client that has gone needs no answer
		return
	}
	if reads := r.Method == http.MethodGet || r.Method == http.MethodHead; reads && below && h.ui != nil && strings.HasPrefix(path, "/") {
		inner, u := *r, *r.URL
		u.Path, inner.URL = path, &u
		if api.ServePage(w, &inner, h.ui, h.config.Server.UIDir != "") {
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, `{"error":{"code":"loading_model","message":"the model is being loaded","type":"unavailable_error","param":null,"progress":%.3f}}`+"\n",
		math.Float32frombits(h.loaded.Load()))
}

// noteProgress keeps the progress of the first model's loading, for requests that ask meanwhile.
func (h *Host) noteProgress(tell func(done float32)) func(done float32) {
	return func(done float32) {
		h.loaded.Store(math.Float32bits(done))
		if tell != nil {
			tell(done)
		}
	}
}

// close ends all connections, those that take too long by force, and frees the model.
func (h *Host) close() error {
	close(h.done)
	parting, stop := context.WithTimeout(context.Background(), partingTime)
	defer stop()
	err := h.server.Shutdown(parting)
	if err != nil {
		err = h.server.Close()
	}
	select {
	case <-h.requests.wait():
	case <-parting.Done():
	}
	h.abort()
	<-h.requests.wait()
	if h.models != nil {
		err = errors.Join(err, h.models.set.Close())
		if h.models.recordings != nil {
			h.models.recordings.Close()
		}
	}
	if h.plugins != nil {
		err = errors.Join(err, h.plugins.Close())
	}
	if h.files != nil {
		err = errors.Join(err, h.files.Close())
	}
	if h.traces != nil {
		sending, stop := context.WithTimeout(context.Background(), partingTime)
		defer stop()
		err = errors.Join(err, h.traces.Close(sending))
	}
	h.log.Info("closed")
	return err
}
