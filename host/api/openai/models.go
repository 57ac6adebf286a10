// SPDX-License-Identifier: MIT

package openai

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
)

// modelEntry is OpenAI's model object with llama-server's details.
type modelEntry struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	OwnedBy string         `json:"owned_by"`
	Aliases []string       `json:"aliases"`
	Tags    []string       `json:"tags"`
	Path    string         `json:"path,omitempty"`
	Status  *modelStatus   `json:"status,omitempty"`
	Meta    map[string]any `json:"meta"`
	// Policies are the plugins that the operator attaches to the caller's requests for it.
	Policies []serving.PolicyInfo `json:"policies,omitempty"`
	// Architecture says what it reads and writes.
	Architecture modalities `json:"architecture"`
}

// modalities are kinds of content: text, image and audio.
type modalities struct {
	Input  []string `json:"input_modalities"`
	Output []string `json:"output_modalities"`
}

func modalitiesOf(can media.Abilities) modalities {
	m := modalities{[]string{"text"}, []string{"text"}}
	if can.Images {
		m.Input = append(m.Input, "image")
	}
	if can.AudioRate > 0 {
		m.Input = append(m.Input, "audio")
	}
	return m
}

// modelStatus is what the router of llama-server reports about a model.
type modelStatus struct {
	Value  string `json:"value"` // unloaded, loading or loaded
	Failed bool   `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a API) entryOf(c echo.Context, m serving.Listed) modelEntry {
	e := modelEntry{ID: m.Name, Object: "model", Created: max(0, m.Created.Unix()), // of a file that cannot be read it is not known
		OwnedBy: "penstock",
		Aliases: append([]string{}, m.Aliases...), Tags: append([]string{}, m.Tags...), Path: m.Path, Status: &modelStatus{Value: m.State},
		Meta: map[string]any{
			"ftype": m.Weights.FileType, "n_vocab": m.Vocabulary.Size, "n_ctx_train": m.Weights.Training, "n_embd": m.Weights.Embedding, "n_params": m.Weights.Parameters, "size": m.Weights.Size,
		}, Architecture: modalitiesOf(m.Media)}
	switch {
	case m.Context > 0: // only llama.cpp knows
		e.Meta["n_ctx"], e.Meta["vocab_type"] = m.Context, m.Vocabulary.Type
	case m.Weights.Training > 0: // as far as its file tells
		e.Meta["n_ctx"] = m.Weights.Training
	}
	if a.Policies != nil {
		e.Policies = a.Policies(m.Name, wire.CallerOf(c).Key)
	}
	if m.BuiltIn {
		e.Meta["built_in"] = true
	}
	if m.Failed != nil {
		e.Status.Failed, e.Status.Error = true, m.Failed.Error()
	}
	return e
}

func (a API) models(c echo.Context) error {
	list := a.Models.List()
	data, models := []modelEntry{}, []map[string]any{}
	for _, m := range list {
		e := a.entryOf(c, m)
		if len(list) == 1 && m.State == "loaded" { // as llama-server, which tells more only where there is a choice
			e.Path, e.Status = "", nil
		}
		data, models = append(data, e), append(models, listed(m))
	}
	return c.JSON(http.StatusOK, map[string]any{"object": "list", "data": data, "models": models})
}

// listed is a model as llama-server lists it a second time. Most of the fields are always empty
// there.
func listed(m serving.Listed) map[string]any {
	capabilities := []string{"completion"}
	if m.Media != (media.Abilities{}) {
		capabilities = append(capabilities, "multimodal")
	}
	if m.Template.Caps["supports_tools"] {
		capabilities = append(capabilities, "tools") // as in Ollama's list
	}
	return map[string]any{
		"name": m.Name, "model": m.Name, "modified_at": "", "size": "", "digest": "", "type": "model", "description": "", "tags": []string{""},
		"capabilities": capabilities, "parameters": "",
		"details": map[string]any{"parent_model": "", "format": "gguf", "family": "", "families": []string{""}, "parameter_size": "",
			"quantization_level": ""},
	}
}

// model describes one model; names may have slashes.
func (a API) model(c echo.Context) error {
	name := c.Param("*")
	var known []string
	for _, m := range a.Models.List() {
		if m.Name == name || slices.Contains(m.Aliases, name) {
			return c.JSON(http.StatusOK, a.entryOf(c, m))
		}
		known = append(known, m.Name)
	}
	return serving.UnknownModel(name, known...)
}
