// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// scripts are the routes for those who write scripts.
type scripts struct {
	*wire.Server
	declarations string // of what a script sees, in TypeScript
}

func (a scripts) routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/scripts/check", Handler: a.check, Body: scriptBody{}},
		{Method: http.MethodGet, Path: "/v1/scripts/penstock.d.ts", Handler: a.declare},
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

// check is POST /v1/scripts/check.
func (a scripts) check(c echo.Context) error {
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

// declare is GET /v1/scripts/penstock.d.ts.
func (a scripts) declare(c echo.Context) error {
	return c.String(http.StatusOK, a.declarations)
}
