// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

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

// uploader is who brings modules, unless the client may bring none.
func (s *service) uploader(c echo.Context) (client string, err error) {
	caller := wire.CallerOf(c)
	if !caller.MayBringModules {
		return "", completion.ModulesForbidden("")
	}
	return caller.ID, nil
}

// uploadModule is POST /v1/modules.
func (s *service) uploadModule(c echo.Context) error {
	client, err := s.uploader(c)
	if err != nil {
		return err
	}
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
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return c.JSON(status, info)
}

func (s *service) listModules(c echo.Context) error {
	client, err := s.uploader(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Object string       `json:"object"`
		Data   []ModuleInfo `json:"data"`
	}{"list", s.Modules.List(client)})
}

func (s *service) getModule(c echo.Context) error {
	client, err := s.uploader(c)
	if err != nil {
		return err
	}
	info, err := s.Modules.Get(client, c.Param("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, info)
}

func (s *service) removeModule(c echo.Context) error {
	client, err := s.uploader(c)
	if err != nil {
		return err
	}
	if err := s.Modules.Remove(client, c.Param("id")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
