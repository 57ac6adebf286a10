// SPDX-License-Identifier: MIT

package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// adapterInfo is a LoRA adapter as these routes show it.
type adapterInfo struct {
	ID           int     `json:"id"`
	Name         string  `json:"name"`
	Scale        float32 `json:"scale"`
	Rank         int     `json:"rank"`
	Bytes        uint64  `json:"bytes"`
	TaskName     string  `json:"task_name,omitempty"`
	PromptPrefix string  `json:"prompt_prefix,omitempty"`
	Invocation   []int32 `json:"invocation_tokens,omitempty"`
}

func showAdapter(i serving.AdapterInfo) adapterInfo {
	return adapterInfo{ID: i.ID, Name: i.Name, Scale: i.Scale, Rank: i.Rank, Bytes: i.Bytes, TaskName: i.TaskName,
		PromptPrefix: i.PromptPrefix, Invocation: i.InvocationTokens}
}

// withAdapters hands the adapters of the model that the query names, or of the default one, to a
// handler. A GET tells of a model that is loaded, and loads none.
func (s *service) withAdapters(handle func(echo.Context, serving.Adapters) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := c.QueryParam("model")
		find := func() (*serving.Model, func(), error) { return s.Models.Use(c.Request().Context(), name) }
		if c.Request().Method == http.MethodGet {
			find = func() (*serving.Model, func(), error) { return s.Models.Loaded(name) }
		}
		m, release, err := find()
		if err != nil {
			return err
		}
		defer release()
		if m.Adapters == nil {
			return &refusal.Error{Kind: refusal.KindNotFound, Code: "unsupported",
				Message: "LoRA adapters are not supported by this server"}
		}
		return handle(c, m.Adapters)
	}
}

// listAdapters is GET /v1/adapters.
func listAdapters(c echo.Context, a serving.Adapters) error {
	data := []adapterInfo{}
	for _, info := range a.List() {
		data = append(data, showAdapter(info))
	}
	return c.JSON(http.StatusOK, map[string]any{"object": "list", "data": data})
}

// adapterBody is POST /v1/adapters.
type adapterBody struct {
	Name  string   `json:"name"`
	Scale *float32 `json:"scale"`
}

// loadAdapter is POST /v1/adapters: an adapter of the model folder, by its name, for requests that
// name it, or with a scale for all.
func loadAdapter(c echo.Context, a serving.Adapters) error {
	var body adapterBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	scale := float32(0)
	if body.Scale != nil {
		scale = *body.Scale
	}
	switch {
	case body.Name == "":
		return refusal.Invalid("name", "name is missing: that of a GGUF file in the model folder")
	case scale < -serving.MaxAdapterScale || scale > serving.MaxAdapterScale:
		return refusal.Invalid("scale", "scale is %v; it must be from %d to %d", scale, -serving.MaxAdapterScale, serving.MaxAdapterScale)
	}
	info, err := a.Load(c.Request().Context(), body.Name, scale)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, showAdapter(info))
}

// unloadAdapter is DELETE /v1/adapters/{name}.
func unloadAdapter(c echo.Context, a serving.Adapters) error {
	if err := a.Unload(c.Param("name")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
