// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/penstock/penstock/host/sampling"
)

// modelEntry is OpenAI's model object with llama-server's details.
type modelEntry struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	OwnedBy string         `json:"owned_by"`
	Meta    map[string]any `json:"meta"`
}

func (s *service) entry() modelEntry {
	m := s.Model
	return modelEntry{ID: m.Name, Object: "model", Created: m.Created.Unix(), OwnedBy: "penstock", Meta: map[string]any{
		"n_vocab": m.Vocabulary, "n_ctx": m.Context, "n_ctx_train": m.Training, "n_embd": m.Embedding,
		"n_params": m.Parameters, "size": m.Size,
	}}
}

func (s *service) models(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]any{"object": "list", "data": []modelEntry{s.entry()}})
}

// model describes one model; names may have slashes.
func (s *service) model(c echo.Context) error {
	if name := c.Param("*"); name != s.Model.Name {
		return s.unknownModel(name)
	}
	return c.JSON(http.StatusOK, s.entry())
}

// props is llama-server's GET /props.
func (s *service) props(c echo.Context) error {
	snap, err := s.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	m := s.Model
	return c.JSON(http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": m.Context, "params": settings()},
		"total_slots":                 len(snap.Slots),
		"model_alias":                 m.Name,
		"model_path":                  m.Path,
		"modalities":                  map[string]bool{"vision": false, "audio": false},
		"chat_template":               m.Template,
		"bos_token":                   m.BOS,
		"eos_token":                   m.EOS,
		"build_info":                  "penstock " + s.Version,
		"is_sleeping":                 false,
		"kernels":                     m.Kernels,
	})
}

// settings are the default sampling parameters, under llama-server's names.
func settings() sampling.Fields {
	f := sampling.FieldsOf(sampling.Default())
	f.LogitBias = json.RawMessage("[]")
	return f
}
