// SPDX-License-Identifier: MIT

// Package api routes HTTP requests to the packages of the APIs that clients speak, and serves
// plugins, health and the browser UI.
//
// It knows JSON and HTTP; the rest of the server is behind the interfaces that Options holds.
package api

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/anthropic"
	"github.com/penstock/penstock/host/api/llamaserver"
	"github.com/penstock/penstock/host/api/ollama"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/responses"
	"github.com/penstock/penstock/host/api/socket"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/scheduler"
)

// Options is what an API needs.
type Options struct {
	Models     serving.Models
	Catalog    Catalog    // nil: no plugins
	Modules    Modules    // nil: clients bring none
	Folder     Folder     // nil: nothing is pulled or removed
	Recordings Recordings // nil: no request is recorded
	// Policies are the plugins that the operator attaches to the requests of a key for a model;
	// nil: none.
	Policies func(model, key string) []serving.PolicyInfo

	ReceiptKeys *receipt.KeySet // with which receipts are checked; nil: none are signed

	Log          *slog.Logger
	LogLevel     *slog.LevelVar           // what the admin may change; nil: nothing
	Sinks        []func(operation.Record) // each gets every request that has ended, besides the log
	Version      string
	Declarations string // of what a script sees, in TypeScript
	Replica      string // names this server among others that serve the same; empty: it is the only one

	Clients
	Bounds
	Timing
	Served
	Running
}

// Clients say who may ask for what.
type Clients struct {
	Keys       func() access.Keys // those that are known now; nil: none, and the server is open to everybody
	Limiter    *access.Limiter    // what each client may use; nil: as much as it likes
	Scripts    *access.Code       // who may bring scripts; nil: nobody
	Uploads    *access.Code       // who may bring modules; nil: nobody
	ShareCache bool               // prompts cached for one key serve the others too
	Proxies    []*net.IPNet       // whose X-Forwarded-For is believed; none: nobody's
	Origins    []string           // other web origins whose pages may call; "*": any, "localhost": this machine's
}

// Bounds limit what a request brings.
type Bounds struct {
	BodyLimit   int64        // bytes
	BodyMemory  int64        // bytes of all bodies and frames together; 0: any number
	ModuleLimit int64        // bytes of a plugin's module that Catalog takes
	Media       media.Bounds // of its pictures and sounds
}

// Timing says how long a client may keep the server waiting, and the server a client.
type Timing struct {
	BodyTimeout  time.Duration // how long a frame of a WebSocket may take, as the server lets a body; 0: any time
	WriteTimeout time.Duration // how long a client may take nothing of its answer; 0: forever
	// A stream's headers go out after StreamGrace even if it has no event yet, and a comment when
	// it had none for StreamComment; 0: 1 s and 10 s.
	StreamGrace, StreamComment time.Duration
	IdlePing                   time.Duration // after so long without a frame a WebSocket's client is asked whether it is there; 0: 30 s
}

// Served says what there is besides the APIs, and where.
type Served struct {
	Prefix  string       // of the paths of all routes, such as /llm; empty: none
	NoSlots bool         // GET /slots is refused
	Props   bool         // POST /props says success
	Metrics http.Handler // GET /metrics; nil: it is refused
	UI      fs.FS        // files of the browser UI; nil: there is none
	OwnUI   bool         // they are the operator's own, not Penstock's
}

// Running is how far the host is with starting and ending.
type Running struct {
	Ready func() bool             // whether new requests are taken; nil: they are
	Hold  func() (release func()) // has the host go on until release is called, or its time is up; nil: it does anyway

	// Draining is closed when no new answers are taken any more: a WebSocket closes then as soon
	// as all of its answers are sent. Done is closed when every answer has ended and is sent, or
	// time is up: connections close then. Either may be nil.
	Draining, Done <-chan struct{}
}

// fillDefaults fills in what callers may leave out.
func (o *Options) fillDefaults() {
	if o.Hold == nil {
		o.Hold = func() func() { return func() {} }
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Keys == nil {
		o.Keys = func() access.Keys { return access.Keys{} }
	}
}

// service answers requests. Its methods are the handlers.
type service struct {
	Options
	sinks   []func(operation.Record) // Sinks and the log
	memory  *wire.Memory
	loads   *loads
	packers chan *gzip.Writer // that are free
	pulls   chan struct{}     // of models, that are running
}

// New builds the handler of all routes.
func New(o Options) http.Handler {
	o.fillDefaults()
	s := &service{Options: o, memory: wire.NewMemory(o.BodyMemory, o.BodyLimit), loads: newLoads(o), packers: newPackers(), pulls: make(chan struct{}, mostPulls)}
	s.sinks = append([]func(operation.Record){s.logOperation}, o.Sinks...)
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(io.Discard) // what matters goes to slog
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = clientOf(o.Proxies)
	e.Use(s.paceAnswer, s.compress, s.follow, s.rescue, s.limitBody, s.sameOrigin, unescapePath)

	e.GET("/health", s.serveHealth)
	e.GET("/v1/health", s.serveHealth)
	e.GET("/livez", s.livez)
	e.GET("/readyz", s.serveHealth)

	// Not an echo.Group: one with middleware takes over what no route of it matches.
	for _, d := range s.dialects() {
		for _, r := range d.Routes {
			switch around := wire.Errors(d.errors); {
			case r.OwnKey: // the WebSocket sees to its own end
				e.Add(r.Method, r.Path, r.Handler, around, s.authorizeSocket)
			case r.Admin:
				e.Add(r.Method, r.Path, r.Handler, around, s.finish, s.administerShared)
			default:
				e.Add(r.Method, r.Path, r.Handler, around, s.finish, s.authorize)
			}
		}
	}
	e.GET("/v1/load", s.load, s.authorize)
	e.GET("/v1/plugins", s.listPlugins, s.authorize, s.withPlugins)
	e.GET("/v1/plugins/:name", s.getPlugin, s.authorize, s.withPlugins)
	e.GET("/v1/plugins/:name/source", s.pluginSource, s.administer, s.withPlugins)
	e.POST("/v1/plugins", s.uploadPlugin, s.administer, s.withPlugins)
	e.DELETE("/v1/plugins/:name", s.removePlugin, s.administer, s.withPlugins)
	e.POST("/v1/plugins/:name/reset", s.resetPlugin, s.administer, s.withPlugins)
	e.POST("/v1/modules", s.withUploader(s.uploadModule), s.authorize)
	e.GET("/v1/modules", s.withUploader(s.listModules), s.authorize)
	e.GET("/v1/modules/:id", s.withUploader(s.getModule), s.authorize)
	e.DELETE("/v1/modules/:id", s.withUploader(s.removeModule), s.authorize)
	e.GET("/v1/recordings", s.withRecordings(listRecordings), s.authorizeAny)
	e.GET("/v1/recordings/:id", s.withRecordings(getRecording), s.authorizeAny)
	e.DELETE("/v1/recordings/:id", s.withRecordings(removeRecording), s.authorizeAny)
	e.GET(receipt.Path, s.receiptKeys)
	s.addAdminRoutes(e)
	s.addFolderRoutes(e)
	e.POST("/models/load", s.loadModel, s.administer)
	e.POST("/models/unload", s.unloadModel, s.administer)
	e.GET("/v1/adapters", s.withAdapters(listAdapters), s.authorize)
	e.POST("/v1/adapters", s.withAdapters(loadAdapter), s.administer)
	e.DELETE("/v1/adapters/:name", s.withAdapters(unloadAdapter), s.administer)
	metrics := llamaserver.NoMetrics
	if o.Metrics != nil {
		metrics = echo.WrapHandler(o.Metrics)
	}
	e.GET("/metrics", metrics, wire.Errors(llamaserver.Error), s.authorize)
	e.RouteNotFound(pageRoute, answerAbsent)
	if o.UI != nil {
		e.GET(pageRoute, s.servePageFile)
	}
	return s.serveBelow(headAsGet{e}, e)
}

// list is how routes show several things.
type list[T any] struct {
	Object string `json:"object"` // list
	Data   []T    `json:"data"`
}

// answerWith answers with what was asked for, if that did not fail.
func answerWith(c echo.Context, v any, err error) error { return answerCreated(c, v, false, err) }

// answerCreated is answerWith for what may not have been there before.
func answerCreated(c echo.Context, v any, created bool, err error) error {
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return c.JSON(status, v)
}

// answerRemoved answers that something is gone, if that did not fail.
func answerRemoved(c echo.Context, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// answerAbsent answers what no route takes. The page takes every GET, so a method that a route does
// not have is not found either.
func answerAbsent(c echo.Context) error {
	r := c.Request()
	return echo.NewHTTPError(http.StatusNotFound, fmt.Sprintf("there is no %s %.80s here; docs/openapi.yaml lists all routes", r.Method, r.URL.Path))
}

// Dialect is an API that clients speak.
type Dialect struct {
	Name   string
	Routes []wire.Route
	errors wire.ErrorShape
}

// Dialects lists the APIs, their routes and the fields that these take. The routes answer nothing.
func Dialects() []Dialect { return (&service{}).dialects() }

// AdminBodies lists the routes that take a body of JSON and belong to no API of Dialects, with the
// fields that they take. They are for the admin, and answer nothing here.
func AdminBodies() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/models/load", Body: modelBody{}},
		{Method: http.MethodPost, Path: "/models/unload", Body: modelBody{}},
		{Method: http.MethodPost, Path: "/v1/adapters", Body: adapterBody{}},
		{Method: http.MethodPost, Path: "/api/pull", Body: pullBody{}},
		{Method: http.MethodDelete, Path: "/api/delete", Body: deleteBody{}},
		{Method: http.MethodPut, Path: "/v1/log-level", Body: levelBody{}},
	}
}

func (s *service) dialects() []Dialect {
	answers := completion.NewService(s.Models)
	answers.Media = media.NewLoader(s.Media)
	server := &wire.Server{Service: answers, Version: s.Version, Memory: s.memory, Grace: s.StreamGrace, Comment: s.StreamComment}
	return []Dialect{
		{"OpenAI", openai.API{Server: server, Policies: s.Policies, Describe: llamaserver.Describe}.Routes(), wire.OpenAIError},
		{"OpenAI's Responses", responses.API{Server: server}.Routes(), wire.OpenAIError},
		{"Anthropic", anthropic.API{Server: server}.Routes(), anthropic.Error},
		{"Ollama", ollama.API{Server: server}.Routes(), ollama.Error},
		{"llama-server", llamaserver.API{Server: server, UI: s.UI != nil, NoSlots: s.NoSlots, NoMetrics: s.Metrics == nil, Props: s.Props, BodyLimit: s.BodyLimit}.Routes(), llamaserver.Error},
		{"Penstock", append(scripts{server, s.Declarations}.routes(), watermarks{server}.routes()...), wire.OpenAIError},
		{"WebSocket", (&socket.API{Server: server, Log: s.Log, BodyLimit: s.BodyLimit, BodyTimeout: s.BodyTimeout, WriteTimeout: s.WriteTimeout, IdlePing: s.IdlePing, Replica: s.Replica,
			Draining: s.Draining, Done: s.Done, Hold: s.Hold, Identify: s.identifySocket}).Routes(), wire.OpenAIError},
	}
}

// clientOf tells who a client is: who has connected, unless that is a proxy that is trusted and
// names another.
func clientOf(proxies []*net.IPNet) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, network := range proxies {
		trust = append(trust, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

func (s *service) livez(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// receiptKeys are the public keys of receipts, for everybody who is shown one.
func (s *service) receiptKeys(c echo.Context) error {
	if s.ReceiptKeys == nil {
		return &refusal.Error{Kind: refusal.KindNotFound, Code: "receipts_disabled",
			Message: "this server signs no receipts; its operator can make a key with 'penstock receipt key FILE' and set receipts.key_file"}
	}
	return c.JSON(http.StatusOK, s.ReceiptKeys)
}

// serveHealth says whether new requests are taken, in llama-server's words.
func (s *service) serveHealth(c echo.Context) error {
	if !s.Ready() {
		return &refusal.Error{Kind: refusal.KindUnavailable, Code: "not_ready", Retry: 5,
			Message: "the server takes no new requests: it is starting or shutting down, or has lost a worker of its model"}
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "ok"})
}

// pagePolicy is the Content Security Policy of the page and of all its files but two. It needs
// nothing but its own files and its own host; text that a model writes is never a reason to load
// something from elsewhere. A blob: is a picture or a sound that a person has added: only the
// page's own script can make one. Nothing is shown by a data: URL, which a text could have.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mcpPolicy is sent with the only file of the page that may call other servers: the worker that
// speaks MCP with those that a person has added. A worker has the policy that it was sent with,
// not that of the page which starts it. So it can load and run nothing besides, and the page
// itself, with all text that a model writes, still calls its own server only.
const mcpPolicy = "default-src 'none'; connect-src http: https:; frame-ancestors 'none'"

// mcpWorker begins the name of that file; the rest is a hash (web/src/tools/mcp.worker.ts).
const mcpWorker = "assets/mcp.worker-"

// pdfPolicy is that of the worker that reads PDFs, whose decoders of scanned pages are WebAssembly.
// They and its tables are files of the page; it can load no script.
const pdfPolicy = "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; frame-ancestors 'none'"

// pdfWorker begins the name of that file (web/src/media/pdf.worker.ts).
const pdfWorker = "assets/pdf.worker-"

// pageRoute takes what no other route does.
const pageRoute = "/*"

// servePageFile serves the UI's files.
func (s *service) servePageFile(c echo.Context) error {
	if !ServePage(c.Response(), c.Request(), s.UI, s.OwnUI) {
		return answerAbsent(c)
	}
	return nil
}

// ServePage sends the file of a page that the request's path names, and reports whether there is
// one. Files under assets/ have a hash in their names and may be kept forever. The operator's own
// files (own) may be anything, in folders too, and say themselves what they need.
func ServePage(w http.ResponseWriter, r *http.Request, files fs.FS, own bool) bool {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || own && strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	info, err := fs.Stat(files, name)
	if err == nil && info.IsDir() && own {
		toFolder(w, r)
		return true
	}
	if err != nil || info.IsDir() {
		return false
	}
	if own {
		w.Header().Set(echo.HeaderCacheControl, "no-cache")
	} else {
		setPageHeaders(w.Header(), name)
	}
	if path.Base(name) == "index.html" {
		return serveFile(w, files, name)
	}
	if !servePacked(w, r, files, name) {
		http.ServeFileFS(w, r, files, name)
	}
	return true
}

func setPageHeaders(h http.Header, name string) {
	h.Set(echo.HeaderCacheControl, "no-cache")
	if strings.HasPrefix(name, "assets/") {
		h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	h.Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	if strings.HasPrefix(name, mcpWorker) {
		h.Set(echo.HeaderContentSecurityPolicy, mcpPolicy)
	}
	if strings.HasPrefix(name, pdfWorker) {
		h.Set(echo.HeaderContentSecurityPolicy, pdfPolicy)
	}
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// serveFile sends a page as it is; http.ServeFileFS would redirect index.html to its folder.
func serveFile(w http.ResponseWriter, files fs.FS, name string) bool {
	file, err := files.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	w.Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	_, _ = io.Copy(w, file) // a client that has gone needs no answer
	return true
}

// Recordings keeps what was recorded of requests. Errors that the client can fix are
// *refusal.Error.
type Recordings interface {
	List(ctx context.Context, r serving.RecordingReader) ([]serving.RecordingInfo, error)
	Get(ctx context.Context, r serving.RecordingReader, id string) (*os.File, error)
	Remove(ctx context.Context, r serving.RecordingReader, id string) error
}

// withRecordings refuses requests if the server keeps no recordings. Else it finds out which client
// asks.
func (s *service) withRecordings(next func(echo.Context, Recordings, serving.RecordingReader) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.Recordings == nil {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "recordings_disabled",
				Message: "this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
		}
		key, _ := s.Keys().Find(secretOf(c.Request()))
		return next(c, s.Recordings, serving.RecordingReader{Caller: wire.CallerOf(c).ID, Admin: key.Admin})
	}
}

func listRecordings(c echo.Context, from Recordings, r serving.RecordingReader) error {
	all, err := from.List(c.Request().Context(), r)
	return answerWith(c, list[serving.RecordingInfo]{"list", all}, err)
}

// getRecording sends a recording's file as it is.
func getRecording(c echo.Context, from Recordings, r serving.RecordingReader) error {
	file, err := from.Get(c.Request().Context(), r, c.Param("id"))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(file.Name())}))
	h.Set(echo.HeaderContentLength, strconv.FormatInt(info.Size(), 10))
	return c.Stream(http.StatusOK, "application/gzip", file)
}

func removeRecording(c echo.Context, from Recordings, r serving.RecordingReader) error {
	return answerRemoved(c, from.Remove(c.Request().Context(), r, c.Param("id")))
}

// watermarks are the routes for those who look for a watermark.
type watermarks struct {
	*wire.Server
}

func (a watermarks) routes() []wire.Route {
	return []wire.Route{{Method: http.MethodPost, Path: "/v1/watermark/detect", Handler: a.detect, Body: detectBody{}}}
}

// mostDetected is how many tokens are tested at once, at most: the test remembers each context.
const mostDetected = 1 << 17

// detectBody is POST /v1/watermark/detect.
type detectBody struct {
	Model   string          `json:"model"`
	Input   json.RawMessage `json:"input"`
	Key     string          `json:"key"`
	Scheme  string          `json:"scheme"`
	Context int             `json:"context"`
	Gamma   float64         `json:"gamma"`
}

// detected is its answer.
type detected struct {
	Object string `json:"object"`
	Model  string `json:"model"`
	watermark.Result
}

// detect is POST /v1/watermark/detect. Whoever asks has the key, and nobody is told of another.
func (a watermarks) detect(c echo.Context) error {
	body := detectBody{Scheme: watermark.Gumbel, Context: watermark.DefaultContext, Gamma: watermark.DefaultGamma}
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	detector, err := watermark.New(watermark.Config{Key: body.Key, Scheme: body.Scheme, Context: body.Context, Gamma: body.Gamma})
	var wrong *watermark.Error
	if errors.As(err, &wrong) {
		return refusal.Invalid(wrong.Field, "%s", wrong.Message)
	}
	m, release, err := a.Models.Use(c.Request().Context(), body.Model)
	if err != nil {
		return err
	}
	defer release()
	result, err := completion.Work(c.Request().Context(), a.Service, wire.CallerOf(c), len(body.Input), func(ctx context.Context) (r watermark.Result, err error) {
		var text string
		var items []json.RawMessage // which may take a dozen times the bytes of the body
		if json.Unmarshal(body.Input, &text) != nil && json.Unmarshal(body.Input, &items) != nil || !completion.IsSet(body.Input) {
			return r, refusal.Invalid("input", "input must be a text, or a list of tokens")
		}
		if len(items) > mostDetected {
			return r, tooManyDetected(len(items))
		}
		tokens := make([]scheduler.Token, len(items))
		for i, item := range items {
			var ok bool
			if tokens[i], ok = completion.ReadToken(item, m.Vocabulary.Size); !ok {
				at := fmt.Sprintf("input[%d]", i)
				return r, refusal.Invalid(at, "%s must be a token from 0 to %d", at, m.Vocabulary.Size-1)
			}
		}
		if items == nil {
			if tokens, err = m.Encoder().Tokenize(ctx, text, false, false); err != nil {
				return r, completion.TextError(err, "input")
			}
		}
		if len(tokens) > mostDetected {
			return r, tooManyDetected(len(tokens))
		}
		return detector.Detect(tokens), nil
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, detected{"watermark.detection", m.Name, result})
}

func tooManyDetected(tokens int) error {
	return refusal.Invalid("input", "input has %d tokens; at most %d are tested at once: test a part, which is enough", tokens, mostDetected)
}
