// SPDX-License-Identifier: MIT

// Package ollama serves Ollama's API.
//
// # Why does /api/version not answer Penstock's version?
//
// Ollama's clients compare it with the version in which a feature came to Ollama, and switch the
// feature off below that. Penstock's own number would mean nothing to them. So the route answers
// the version of Ollama whose API is served, with Penstock's beside it.
package ollama

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/vectors"
)

// API answers Ollama's routes.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	routes := []wire.Route{
		{Method: http.MethodPost, Path: "/api/chat", Handler: a.chat, Body: chatBody{}},
		{Method: http.MethodPost, Path: "/api/generate", Handler: a.generate, Body: generateBody{}},
		{Method: http.MethodPost, Path: "/api/embed", Handler: a.embed, Body: embedBody{}},
		{Method: http.MethodPost, Path: "/api/embeddings", Handler: a.embeddings, Body: embeddingsBody{}},
		{Method: http.MethodPost, Path: "/api/show", Handler: a.show, Body: showBody{}},
	}
	routes = append(routes,
		wire.Route{Method: http.MethodGet, Path: "/api/tags", Handler: a.tags},
		wire.Route{Method: http.MethodGet, Path: "/api/ps", Handler: a.running},
		wire.Route{Method: http.MethodGet, Path: "/api/version", Handler: a.version})
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		routes = append(routes, wire.Route{Method: method, Path: "/api/*", Handler: answerAbsent})
	}
	return routes
}

// answerAbsent answers the routes that this server lacks: those that make, copy and send models.
func answerAbsent(c echo.Context) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "not_found",
		Message: "this server has no " + c.Request().Method + " " + c.Request().URL.Path + "; models come from its model folder, see its command penstock model"}
}

// Error is the wire.ErrorShape of the API. It has no place for the field at fault, so the message
// names it.
func Error(e *refusal.Error) any {
	message := e.Message
	if !strings.Contains(message, e.Field) {
		message = e.Field + ": " + message
	}
	return struct {
		Error string `json:"error"`
	}{message}
}

// apiLevel is the version of Ollama whose API these routes follow. Clients look at it before they
// use a feature.
const apiLevel = "0.13.4"

// entry is a model in a list.
type entry struct {
	Name     string    `json:"name"`
	Model    string    `json:"model"`
	Modified time.Time `json:"modified_at"`
	Size     uint64    `json:"size"`
	Digest   string    `json:"digest"`
	Details  details   `json:"details"`
}

type details struct {
	Parent        string   `json:"parent_model"`
	Format        string   `json:"format"`
	Family        string   `json:"family"`
	Families      []string `json:"families"`
	ParameterSize string   `json:"parameter_size"`
	Quantization  string   `json:"quantization_level"`
}

// runningEntry is a model that is loaded.
type runningEntry struct {
	entry
	Expires time.Time `json:"expires_at"`
	VRAM    uint64    `json:"size_vram"`
	Context int       `json:"context_length"`
}

func entryOf(m serving.Listed) entry {
	name := m.Name
	if !strings.Contains(name, ":") {
		name += defaultTag
	}
	return entry{Name: name, Model: name, Modified: m.Created, Size: m.Weights.Size, Digest: m.Digest, Details: detailsOf(m.Info)}
}

func detailsOf(m serving.Info) details {
	families := []string{m.Weights.Family}
	if m.Media != (media.Abilities{}) {
		families = append(families, "clip")
	}
	return details{Format: "gguf", Family: m.Weights.Family, Families: families, ParameterSize: count(m.Weights.Parameters), Quantization: m.Weights.FileType}
}

// count writes a number of parameters as people say it: 7.6B, 135.0M.
func count(n uint64) string {
	for _, u := range []struct {
		size uint64
		unit string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(u.size), u.unit)
		}
	}
	return fmt.Sprint(n)
}

func (a API) version(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]string{"version": apiLevel, "penstock": a.Version})
}

// tags lists the models. A file that cannot be read is none to Ollama; GET /v1/models tells what
// is wrong with it.
func (a API) tags(c echo.Context) error {
	list := []entry{}
	for _, m := range a.Models.List() {
		if !unreadable(m) {
			list = append(list, entryOf(m))
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"models": list})
}

func unreadable(m serving.Listed) bool { return m.Failed != nil && m.Weights.Size == 0 }

func (a API) running(c echo.Context) error {
	never := time.Now().Add(math.MaxInt64)
	list := []runningEntry{}
	for _, m := range a.Models.List() {
		if m.State == "loaded" {
			list = append(list, runningEntry{entry: entryOf(m), Expires: never, Context: m.Context})
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"models": list})
}

// description is what POST /api/show answers.
type description struct {
	Parameters   string         `json:"parameters"`
	Template     string         `json:"template"`
	Details      details        `json:"details"`
	ModelInfo    map[string]any `json:"model_info"`
	Projector    map[string]any `json:"projector_info,omitempty"`
	Capabilities []string       `json:"capabilities"`
	Modified     time.Time      `json:"modified_at"`
}

// capabilitiesOf says what a model is good for, in Ollama's words: one that is loaded, or as its
// file says.
func capabilitiesOf(m serving.Info, inserts, embeds bool) []string {
	all := []string{"completion"}
	for _, c := range []struct {
		name string
		has  bool
	}{
		{"tools", m.Template.Caps["supports_tools"]}, {"thinking", m.Template.Thinks}, {"insert", inserts}, {"embedding", embeds},
	} {
		if c.has {
			all = append(all, c.name)
		}
	}
	return append(all, sensesOf(m)...)
}

// sensesOf lists what a model takes besides text.
func sensesOf(m serving.Info) (senses []string) {
	if m.Media.Images {
		senses = append(senses, "vision")
	}
	if m.Media.AudioRate > 0 {
		senses = append(senses, "audio")
	}
	return senses
}

// showBody is POST /api/show.
type showBody struct {
	Model string `json:"model"`
	Name  string `json:"name"` // an older name of the same
}

func (a API) show(c echo.Context) error {
	var b showBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if b.Model == "" {
		b.Model = b.Name
	}
	name := modelName(b.Model)
	m, release, err := a.Models.Loaded(name)
	if err == nil {
		defer release()
		return c.JSON(http.StatusOK, describe(m.Info, capabilitiesOf(m.Info, len(m.Vocabulary.FIM.Missing()) == 0, m.Embeddings != nil)))
	}
	for _, m := range a.Models.List() {
		switch named := m.Name == name || slices.Contains(m.Aliases, name); {
		case named && unreadable(m):
			return serving.NotLoadable(m.Name, m.Failed)
		case named: // it is not loaded only to be shown, so it is what its file says
			return c.JSON(http.StatusOK, describe(m.Info, capabilitiesOf(m.Info, false, false)))
		}
	}
	return err
}

func describe(m serving.Info, capabilities []string) description {
	var projector map[string]any
	if m.Media != (media.Abilities{}) {
		projector = map[string]any{"general.architecture": "clip", "clip.projector_type": m.Projector.Kinds,
			"clip.has_vision_encoder": m.Media.Images, "clip.has_audio_encoder": m.Media.AudioRate > 0}
	}
	return description{
		Projector: projector,
		Template:  m.Template.Source, Details: detailsOf(m), Modified: m.Created, Capabilities: capabilities,
		ModelInfo: map[string]any{
			"general.architecture": m.Weights.Family, "general.parameter_count": m.Weights.Parameters,
			m.Weights.Family + ".context_length": m.Weights.Training, m.Weights.Family + ".embedding_length": m.Weights.Embedding, m.Weights.Family + ".vocab_size": m.Vocabulary.Size,
		},
	}
}

// embedBody is POST /api/embed.
type embedBody struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Truncate   *bool           `json:"truncate"` // absent: true
	Dimensions int             `json:"dimensions"`
	TimeoutMS  *int64          `json:"timeout_ms"` // an addition of ours
}

// embedAnswer is the answer without texts; another's vectors are written one by one.
type embedAnswer struct {
	Model      string      `json:"model"`
	Embeddings [][]float32 `json:"embeddings"`
	embedTimes
}

type embedTimes struct {
	Total time.Duration `json:"total_duration"`
	Load  time.Duration `json:"load_duration"` // always 0: it is not told from the rest
	Count int           `json:"prompt_eval_count"`
}

func (a API) embed(c echo.Context) error {
	begun := time.Now()
	var b embedBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if slices.Contains([]string{"", "null", `""`, "[]"}, string(b.Input)) {
		return a.load(c, b.Model, func(model string) any { return embedAnswer{Model: model, Embeddings: [][]float32{}} })
	}
	if b.Dimensions < 0 {
		return refusal.Invalid("dimensions", "dimensions is %d; it must be at least 1, or 0 for all", b.Dimensions)
	}
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c), ModelName: modelName(b.Model), Input: b.Input, Field: "input",
		OneVector: true, Truncate: b.Truncate == nil || *b.Truncate, TimeoutMS: b.TimeoutMS})
	if err != nil {
		return err
	}
	defer answer.Release()
	list := wire.JSONList(answer.Vectors, func(_ int, v [][]float32, yield func(any) bool) bool { return yield(shortenVector(v[0], b.Dimensions)) })
	return wire.JSONParts(c, wire.JSONWith(struct {
		Model string `json:"model"`
	}{answer.Model}, "embeddings", list, embedTimes{Total: time.Since(begun), Count: answer.Tokens}))
}

// shortenVector gives a vector n dimensions and the length 1; 0, or more than it has: all of them,
// as with Ollama.
func shortenVector(v []float32, n int) []float32 {
	if n == 0 || n >= len(v) {
		return v
	}
	v = v[:n]
	embedding.Normalize(v, embedding.NormalizeEuclidean)
	return v
}

// embeddingsBody is POST /api/embeddings, an older route for one text.
type embeddingsBody struct {
	Model     string `json:"model"`
	Prompt    string `json:"prompt"`
	TimeoutMS *int64 `json:"timeout_ms"` // an addition of ours
}

type embeddingsAnswer struct {
	Embedding []float32 `json:"embedding"`
}

// embeddings answers with a vector that is not normalised.
func (a API) embeddings(c echo.Context) error {
	var b embeddingsBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if b.Prompt == "" {
		return a.load(c, b.Model, func(string) any { return embeddingsAnswer{[]float32{}} })
	}
	text, _ := json.Marshal(b.Prompt) // every text has a JSON form
	asItIs := embedding.NormalizeNone
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c), ModelName: modelName(b.Model), Input: text, Field: "prompt",
		OneVector: true, Normalize: &asItIs, Truncate: true, TimeoutMS: b.TimeoutMS})
	if err != nil {
		return err
	}
	defer answer.Release()
	return c.JSON(http.StatusOK, embeddingsAnswer{answer.Vectors[0][0]})
}
