// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/penstock/penstock/host/sampling"
)

func (s *service) live(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// health says whether new requests are taken, in llama-server's words.
func (s *service) health(c echo.Context) error {
	if s.Ready != nil && !s.Ready() {
		return &Error{Status: http.StatusServiceUnavailable, Code: "not_ready", Type: typeNotReady, Retry: 5,
			Message: "the server takes no new requests: it is starting or shutting down"}
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "ok"})
}

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

// slots is llama-server's GET /slots. It shows no text of anybody's answer, and no name that would let a stranger
// attach to a stream.
func (s *service) slots(c echo.Context) error {
	snap, err := s.Scheduler.Inspect(c.Request().Context(), 0)
	if err != nil {
		return err
	}
	type next struct {
		HasNext bool `json:"has_next_token"`
		Decoded int  `json:"n_decoded"`
	}
	type slot struct {
		ID         int    `json:"id"`
		Context    int    `json:"n_ctx"`
		Processing bool   `json:"is_processing"`
		State      string `json:"state"`
		Prompt     int    `json:"n_prompt_tokens"`
		Cached     int    `json:"n_prompt_tokens_cache"`
		Computed   int    `json:"n_past"`
		AgeMS      int64  `json:"age_ms"`
		Next       []next `json:"next_token"`
	}
	slots := make([]slot, len(snap.Slots))
	for i, info := range snap.Slots {
		busy := info.Stream != ""
		slots[i] = slot{ID: info.Slot, Context: s.Model.Context, Processing: busy, State: info.State, Prompt: info.Prompt,
			Cached: info.Cached, Computed: info.Computed, AgeMS: info.Age.Milliseconds(),
			Next: []next{{HasNext: busy, Decoded: info.Generated}}}
	}
	return c.JSON(http.StatusOK, slots)
}

// settings are the default sampling parameters, under llama-server's names.
func settings() sampling.Fields {
	f := sampling.FieldsOf(sampling.Default())
	f.LogitBias = json.RawMessage("[]")
	return f
}
