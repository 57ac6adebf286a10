// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// Catalog lists the plugins and changes which there are. Errors that the client can fix are
// *refusal.Error.
type Catalog interface {
	List() []PluginInfo
	Get(name string) (PluginInfo, error)
	Upload(ctx context.Context, wasm []byte) (_ PluginInfo, created bool, _ error)
	Try(ctx context.Context, wasm []byte) (_ PluginInfo, created bool, _ error) // as Upload would answer, changing nothing
	// UploadScript and TryScript are the same for a script, the plugin of that name.
	UploadScript(ctx context.Context, name string, source []byte) (_ PluginInfo, created bool, _ error)
	TryScript(ctx context.Context, name string, source []byte) (_ PluginInfo, created bool, _ error)
	Source(name string) ([]byte, error) // of a script
	Remove(ctx context.Context, name string) error
	Reset(name string) (PluginInfo, error)
}

// PluginInfo describes a plugin.
type PluginInfo struct {
	Name     string          `json:"name"`
	SHA256   string          `json:"sha256,omitempty"`
	State    string          `json:"state"` // ready, quarantined, failed
	Manifest json.RawMessage `json:"manifest,omitempty"`
	Exports  []string        `json:"exports,omitempty"`
	Default  bool            `json:"default"` // every request uses it
	// Policies say which requests use it because the operator attaches it.
	Policies []serving.PolicyInfo `json:"policies,omitempty"`

	File      string     `json:"file"`    // "": it is a part of the server
	Bundled   bool       `json:"bundled"` // the server comes with the file
	Size      int64      `json:"size"`    // of the file, in bytes
	Error     string     `json:"error,omitempty"`
	Faults    int        `json:"faults"`
	LastFault string     `json:"last_fault,omitempty"`
	FaultedAt *time.Time `json:"last_fault_at,omitempty"` // nil: never
	// ModelErrors has the models in memory that it cannot be used with.
	ModelErrors []PluginModelError `json:"model_errors,omitempty"`
}

// PluginModelError says why a plugin cannot be used with a model.
type PluginModelError struct {
	Model string `json:"model"` // its name
	Error string `json:"error"`
}

// uploads bounds how many modules are read at a time: each may take as much memory as a body may
// have bytes.
var uploads = make(chan struct{}, 4)

// withPlugins refuses requests if the server runs no plugins.
func (s *service) withPlugins(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.Catalog == nil {
			return &refusal.Error{Kind: refusal.KindNotFound, Code: "unsupported", Message: "plugins are not supported by this server"}
		}
		return next(c)
	}
}

func (s *service) listPlugins(c echo.Context) error {
	return c.JSON(http.StatusOK, list[PluginInfo]{"list", s.Catalog.List()})
}

func (s *service) getPlugin(c echo.Context) error {
	info, err := s.Catalog.Get(c.Param("name"))
	return answerWith(c, info, err)
}

// taker does with what is uploaded what its client wants.
type taker func(ctx context.Context, content []byte) (_ PluginInfo, created bool, _ error)

// chooseTaker chooses what takes an upload: a module or a script, as its media type says.
func (s *service) chooseTaker(c echo.Context) (taker, error) {
	dry := false
	switch c.QueryParam("dry_run") {
	case "", "false":
	case "true":
		dry = true
	default:
		return nil, refusal.Invalid("dry_run", "dry_run must be true or false")
	}
	media, _, _ := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	switch media {
	case "application/wasm":
		if dry {
			return s.Catalog.Try, nil
		}
		return s.Catalog.Upload, nil
	case "text/javascript", "application/javascript":
		name, take := c.QueryParam("name"), s.Catalog.UploadScript
		if dry {
			take = s.Catalog.TryScript
		}
		if name == "" {
			return nil, refusal.Invalid("name", "name is missing: a script is uploaded as the plugin of a name, such as /v1/plugins?name=ban")
		}
		return func(ctx context.Context, content []byte) (PluginInfo, bool, error) { return take(ctx, name, content) }, nil
	}
	return nil, &refusal.Error{Kind: refusal.KindWrongMedia, Code: "wrong_content_type",
		Message: "a plugin is uploaded as it is, with Content-Type: application/wasm; a script with text/javascript"}
}

// uploadPlugin is POST /v1/plugins. With dry_run=true it says what the upload would do, and does
// not do it.
func (s *service) uploadPlugin(c echo.Context) error {
	take, err := s.chooseTaker(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	select {
	case uploads <- struct{}{}:
		defer func() { <-uploads }()
	case <-ctx.Done():
		return refusal.ErrGone
	}
	content, err := wire.Receive(c, readAnnounced(c.Request().ContentLength, min(s.BodyLimit, s.ModuleLimit+1)))
	if err != nil {
		return err
	}
	info, created, err := take(ctx, content)
	return answerCreated(c, info, created, err)
}

// readAnnounced reads a body that is said to have size bytes (−1: not said). It allocates that
// memory once, where io.ReadAll would allocate and copy again and again. A client may announce more
// than it sends, so at most that many bytes are allocated in advance, and the number of callers
// must be bounded.
func readAnnounced(size, most int64) func(io.Reader) ([]byte, error) {
	return func(r io.Reader) ([]byte, error) {
		b := bytes.NewBuffer(make([]byte, 0, min(max(0, size), most)+bytes.MinRead))
		_, err := b.ReadFrom(r)
		return b.Bytes(), err
	}
}

// pluginSource is GET /v1/plugins/NAME/source.
func (s *service) pluginSource(c echo.Context) error {
	source, err := s.Catalog.Source(c.Param("name"))
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/javascript; charset=utf-8", source)
}

func (s *service) removePlugin(c echo.Context) error {
	return answerRemoved(c, s.Catalog.Remove(c.Request().Context(), c.Param("name")))
}

func (s *service) resetPlugin(c echo.Context) error {
	info, err := s.Catalog.Reset(c.Param("name"))
	return answerWith(c, info, err)
}

// Modules keeps the modules that clients bring for their own requests. client tells clients apart,
// as completion.Caller.ID does; no client learns of the modules of others. Errors that the client
// can fix are *refusal.Error.
type Modules interface {
	List(client string) []ModuleInfo
	Get(client, id string) (ModuleInfo, error)
	Upload(ctx context.Context, client string, wasm []byte) (_ ModuleInfo, created bool, _ error)
	Remove(client, id string) error
}

// ModuleInfo describes a module of a client.
type ModuleInfo struct {
	ID        string          `json:"id"` // sha256: and the hash of the file, in hexadecimal
	Object    string          `json:"object"`
	Size      int64           `json:"size"`       // of the file, in bytes
	CreatedAt int64           `json:"created_at"` // when it was uploaded, in seconds since 1970
	ExpiresAt int64           `json:"expires_at"` // when it goes, unless it is used before
	State     string          `json:"state"`      // ready, quarantined, failed
	Manifest  json.RawMessage `json:"manifest"`
	Exports   []string        `json:"exports"`
	Error     string          `json:"error,omitempty"`
	Faults    int             `json:"faults"`
	LastFault string          `json:"last_fault,omitempty"`
	// ModelErrors has the models in memory that it cannot be used with.
	ModelErrors []PluginModelError `json:"model_errors,omitempty"`
}

// withUploader names the client that brings modules, and refuses one that may bring none.
func (s *service) withUploader(next func(c echo.Context, client string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		caller := wire.CallerOf(c)
		if !caller.MayBringModules {
			return completion.ModulesForbidden("")
		}
		return next(c, caller.ID)
	}
}

// uploadModule is POST /v1/modules.
func (s *service) uploadModule(c echo.Context, client string) error {
	if media, _, _ := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType)); media != "application/wasm" {
		return &refusal.Error{Kind: refusal.KindWrongMedia, Code: "wrong_content_type", Message: "a module is uploaded as it is, with Content-Type: application/wasm"}
	}
	if wait := s.Uploads.Take(client); wait > 0 {
		seconds := wholeSeconds(wait)
		return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_modules", Retry: seconds,
			Message: fmt.Sprintf("you have sent %d modules within a minute, each of which is compiled; try again in %d s", access.NewModules, seconds)}
	}
	wasm, err := wire.Receive(c, io.ReadAll) // its bytes count as those of other bodies do
	if err != nil {
		return err
	}
	info, created, err := s.Modules.Upload(c.Request().Context(), client, wasm)
	return answerCreated(c, info, created, err)
}

func (s *service) listModules(c echo.Context, client string) error {
	return c.JSON(http.StatusOK, list[ModuleInfo]{"list", s.Modules.List(client)})
}

func (s *service) getModule(c echo.Context, client string) error {
	info, err := s.Modules.Get(client, c.Param("id"))
	return answerWith(c, info, err)
}

func (s *service) removeModule(c echo.Context, client string) error {
	return answerRemoved(c, s.Modules.Remove(client, c.Param("id")))
}

// scripts are the routes for those who write scripts.
type scripts struct {
	*wire.Server
	declarations string // of what a script sees, in TypeScript
}

func (a scripts) routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/scripts/check", Handler: a.checkScript, Body: scriptBody{}},
		{Method: http.MethodGet, Path: "/v1/scripts/penstock.d.ts", Handler: a.serveDeclarations},
	}
}

// scriptBody is POST /v1/scripts/check.
type scriptBody struct {
	Source string          `json:"source"`
	Config json.RawMessage `json:"config"`
	Model  string          `json:"model"`
}

// checkedScript is its answer. A script with a mistake is a good question: the status is 200, so
// that an editor tells it from a failure of its own.
type checkedScript struct {
	OK bool `json:"ok"`
	*serving.Plan
	Error *scriptMistake `json:"error,omitempty"`
}

// scriptMistake is what is wrong in a script, or in what it is given.
type scriptMistake struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`   // from 1; absent: it is not known
	Column  int    `json:"column,omitempty"` // likewise
	Param   string `json:"param"`            // source, or the part of config that the script's schema does not allow
}

// checkScript is POST /v1/scripts/check.
func (a scripts) checkScript(c echo.Context) error {
	var body scriptBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if !completion.IsSet(body.Config) {
		body.Config = nil
	}
	plan, err := a.CheckScript(c.Request().Context(), completion.CheckedScript{Caller: wire.CallerOf(c), ModelName: body.Model, Source: body.Source, Config: body.Config})
	var refused *refusal.Error
	switch {
	case err == nil:
		return c.JSON(http.StatusOK, checkedScript{OK: true, Plan: &plan})
	case errors.As(err, &refused) && refused.Code == refusal.ScriptCode:
		return c.JSON(http.StatusOK, checkedScript{Error: &scriptMistake{
			strings.TrimPrefix(refused.Message, refused.Field+": "), refused.Numbers[refusal.ScriptLine], refused.Numbers[refusal.ScriptColumn], refused.Field}})
	}
	return err
}

// serveDeclarations answers GET /v1/scripts/penstock.d.ts.
func (a scripts) serveDeclarations(c echo.Context) error {
	return c.String(http.StatusOK, a.declarations)
}
