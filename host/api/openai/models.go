// SPDX-License-Identifier: MIT

package openai

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// modelEntry is OpenAI's model object with llama-server's details.
type modelEntry struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	OwnedBy string         `json:"owned_by"`
	Aliases []string       `json:"aliases"`
	Tags    []string       `json:"tags"`
	Meta    map[string]any `json:"meta"`
}

func entryOf(m *completion.Model) modelEntry {
	return modelEntry{ID: m.Name, Object: "model", Created: m.Created.Unix(), OwnedBy: "penstock",
		Aliases: append([]string{}, m.Aliases...), Tags: append([]string{}, m.Tags...), Meta: map[string]any{
			"vocab_type": m.VocabType, "ftype": m.FileType,
			"n_vocab": m.Vocabulary, "n_ctx": m.Context, "n_ctx_train": m.Training, "n_embd": m.Embedding,
			"n_params": m.Parameters, "size": m.Size,
		}}
}

func (a API) models(c echo.Context) error {
	m := a.Models.Default()
	return c.JSON(http.StatusOK, map[string]any{"object": "list", "data": []modelEntry{entryOf(m)}, "models": []map[string]any{listed(m)}})
}

// listed is a model as llama-server lists it a second time. Most of the fields are always empty there.
func listed(m *completion.Model) map[string]any {
	return map[string]any{
		"name": m.Name, "model": m.Name, "modified_at": "", "size": "", "digest": "", "type": "model", "description": "", "tags": []string{""},
		"capabilities": []string{"completion"}, "parameters": "",
		"details": map[string]any{"parent_model": "", "format": "gguf", "family": "", "families": []string{""}, "parameter_size": "",
			"quantization_level": ""},
	}
}

// model describes one model; names may have slashes.
func (a API) model(c echo.Context) error {
	m := a.Models.Default()
	if name := c.Param("*"); name != m.Name {
		return completion.UnknownModel(name, m.Name)
	}
	return c.JSON(http.StatusOK, entryOf(m))
}
