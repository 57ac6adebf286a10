// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/config"
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
		if h.models.disk != nil {
			err = errors.Join(err, h.models.disk.Close())
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

// Listen begins to listen on an address, with SO_REUSEPORT if reuse says so. Of a server that
// crashed the path of a Unix socket may be left; nobody answers there, so it is replaced.
func Listen(ctx context.Context, a config.Address, reuse bool) (net.Listener, error) {
	if len(a.Socket) > longestSocket {
		return nil, fmt.Errorf("listen on %s: the path of a Unix socket has at most %d bytes, and this one %d; name a shorter path", a, longestSocket, len(a.Socket))
	}
	var l net.ListenConfig
	if reuse && a.Socket == "" {
		l.Control = reusePort
	}
	listener, err := l.Listen(ctx, a.Network(), a.String())
	if errors.Is(err, syscall.EADDRINUSE) && a.Socket != "" && isAbandoned(ctx, a.Socket) && os.Remove(a.Socket) == nil {
		listener, err = l.Listen(ctx, a.Network(), a.String())
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	if err := a.CheckOpened(listener.Addr()); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", a, err), listener.Close())
	}
	return listener, nil
}

// longestSocket is how many bytes the path of a Unix socket may have. One more ends it.
const longestSocket = len(syscall.RawSockaddrUnix{}.Path) - 1

// listeningOn says what the address has become.
func listeningOn(got net.Addr) string {
	address, ok := got.(*net.TCPAddr)
	switch {
	case !ok:
		return "the Unix socket " + got.String()
	case !address.IP.IsUnspecified():
		return address.String()
	case address.IP.To4() != nil:
		return fmt.Sprintf("port %d of all IPv4 addresses of this machine", address.Port)
	}
	return fmt.Sprintf("port %d of all addresses of this machine", address.Port)
}

func isAbandoned(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return false
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// URL is where the host is reached, with the port it got and the prefix of all paths. For a Unix
// socket it is the socket's path.
func (h *Host) URL() string {
	address, ok := h.listener.Addr().(*net.TCPAddr)
	if !ok {
		return "unix:" + h.listener.Addr().String()
	}
	scheme := "http://"
	if h.tls != nil {
		scheme = "https://"
	}
	prefix := h.config.Server.APIPrefix
	if address.IP.IsUnspecified() {
		return fmt.Sprintf("%s127.0.0.1:%d%s", scheme, address.Port, prefix)
	}
	return scheme + strings.ReplaceAll(address.String(), "%", "%25") + prefix // a zone begins with the sign of escapes
}

// encrypted is the listener with TLS, if that is configured.
func (h *Host) encrypted() net.Listener {
	if h.tls == nil {
		return h.listener
	}
	return tls.NewListener(h.listener, h.tls)
}

// tlsConfig is how connections are encrypted; nil: not at all. A certificate that has changed is
// used for connections that begin from then on.
func tlsConfig(s config.Server, log *slog.Logger) (*tls.Config, error) {
	if s.SSLCertFile == "" {
		return nil, nil
	}
	pair, err := newReloaded(log, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(s.SSLCertFile, s.SSLKeyFile)
		return &pair, err
	}, s.SSLCertFile, s.SSLKeyFile)
	if err != nil {
		return nil, fmt.Errorf("use %s with %s (server.ssl_cert_file, server.ssl_key_file): %w", s.SSLCertFile, s.SSLKeyFile, err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil },
	}, nil
}

// checksHosts reports whether requests must name a host of this machine in their Host header. If
// no key is asked for and only this machine can connect, a page of the web could still get in: by
// a host name of its own that it lets point to 127.0.0.1 (DNS rebinding). To the browser that is
// the page's own origin.
func (h *Host) checksHosts() bool {
	address, ok := h.listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback() && !h.config.Server.NeedsKey()
}

// allowsHost reports whether a request's Host is a name of this machine, or of an origin that is
// configured, as that of a proxy.
func (h *Host) allowsHost(host string) bool {
	name := hostname(host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name).IsLoopback() {
		return true
	}
	for _, origin := range h.config.Server.CORSOrigins {
		if u, err := url.Parse(origin); origin == "*" || err == nil && u.Host != "" && hostname(u.Host) == name {
			return true
		}
	}
	return false
}

// hostname is a Host header without its port, in lower case.
func hostname(host string) string {
	return strings.ToLower((&url.URL{Host: host}).Hostname())
}

func refuseHost(w http.ResponseWriter, host string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{ // a client that has gone needs no answer
		"code": "host_not_allowed", "type": "permission_error", "param": nil,
		"message": "this server is for its own machine and does not know the host " + host +
			"; --cors-origins http://" + host + " would let it in, and so would asking for keys (--api-key)",
	}})
}

// Run takes requests until ctx is done, then shuts down. At once /readyz says so. After
// server.shutdown_delay new requests are refused, and running ones go on for up to
// server.shutdown_timeout; what is left then ends as cancelled. The error is nil after an orderly
// end.
func (h *Host) Run(ctx context.Context) error {
	h.accepts.Store(true)
	h.log.Info("ready", slog.String("url", h.URL()))
	if h.ready != nil {
		h.ready(h.URL())
	}
	var failed error
	select {
	case <-ctx.Done():
		h.log.Info("asked to end", slog.Any("because", context.Cause(ctx)))
		h.announce()
	case failed = <-h.served:
		failed = fmt.Errorf("serve HTTP: %w", failed)
	}
	return errors.Join(failed, h.drain(), h.Close())
}

// announce has /readyz say that the host is about to end, and takes requests until proxies have
// noticed: those that are on their way would be refused otherwise.
func (h *Host) announce() {
	h.accepts.Store(false)
	if delay := h.config.Server.ShutdownDelay; delay > 0 {
		h.log.Info("shutting down soon; new requests are still taken", slog.Duration("for", delay))
		time.Sleep(delay)
	}
}

// drain refuses new requests and waits until running ones have ended and their clients have all of
// them, at most for server.shutdown_timeout.
func (h *Host) drain() error {
	h.accepts.Store(false)
	h.log.Info("shutting down", slog.Duration("at_most", h.config.Server.ShutdownTimeout))
	limit, stop := context.WithTimeout(context.Background(), h.config.Server.ShutdownTimeout)
	defer stop()
	if h.models.disk != nil {
		h.models.disk.EndBy(time.Now().Add(h.config.Server.ShutdownTimeout + partingTime))
	}
	close(h.draining)
	left, err := h.models.drain(limit.Done())
	if left > 0 {
		h.log.Warn("some answers were cut off", slog.Int("running", left))
	}
	select {
	case <-h.held.wait():
	case <-limit.Done():
	}
	return err
}

// hold has drain wait until release is called.
func (h *Host) hold() (release func()) {
	h.held.add()
	return h.held.done
}

// inFlight counts the requests that are being answered. Unlike a WaitGroup it may be waited for
// while new ones still come.
type inFlight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // made by the first who waits, closed when n falls to 0
}

func (c *inFlight) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *inFlight) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// wait returns a channel that is closed when no request is left.
func (c *inFlight) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.empty != nil {
		return c.empty
	}
	empty := make(chan struct{})
	if c.n == 0 {
		close(empty)
	} else {
		c.empty = empty
	}
	return empty
}
