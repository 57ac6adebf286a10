// SPDX-License-Identifier: MIT

// Package openai serves OpenAI's API, with llama-server's additions and ours.
package openai

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/vectors"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// API answers OpenAI's routes.
type API struct {
	*wire.Server
	// Policies are the plugins that the operator attaches to the requests of a key for a model;
	// nil: none.
	Policies func(model, key string) []serving.PolicyInfo
	// Describe makes the shape of llama-server's own API, for clients that ask for what it tells
	// besides.
	Describe func(r *completion.Prompted, b *AnswerFields) wire.Detailed
}

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/chat/completions", Handler: a.chatCompletion, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/chat/completions", Handler: a.chatCompletion, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/v1/chat/completions/input_tokens", Handler: a.countTokens, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/chat/completions/input_tokens", Handler: a.countTokens, Body: ChatBody{}},
		{Method: http.MethodPost, Path: "/v1/completions", Handler: a.textCompletion, Body: textBody{}},
		{Method: http.MethodPost, Path: "/v1/audio/transcriptions", Handler: a.transcription, Body: transcriptionBody{}},
		{Method: http.MethodPost, Path: "/audio/transcriptions", Handler: a.transcription, Body: transcriptionBody{}},
		{Method: http.MethodPost, Path: "/v1/embeddings", Handler: a.embeddings, Body: embeddingsBody{}},
		{Method: http.MethodGet, Path: "/v1/models", Handler: a.models},
		{Method: http.MethodGet, Path: "/models", Handler: a.models},
		{Method: http.MethodGet, Path: "/v1/models/*", Handler: a.model},
	}
}

func (a API) chatCompletion(c echo.Context) error {
	r, b, err := a.readChat(c)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.describeShape(r, &b.AnswerFields, newChatShape(a.newAnswerHeads("chatcmpl-", r, &b.AnswerFields))), b.Stream)
}

// readChat reads a body and makes its prompt, for which a model may have to be loaded first.
func (a API) readChat(c echo.Context) (*completion.Prompted, *ChatBody, error) {
	b := &ChatBody{AnswerFields: Defaults()}
	r, err := a.ReadPrompt(c, b, b.Asked)
	return r, b, err
}

// countTokens tells, as llama-server does, how many tokens the prompt of a chat would have. With
// digests=true in the query it tells a router the digests of their blocks besides, which are those
// of GET /v1/load.
func (a API) countTokens(c echo.Context) error {
	wanted := c.QueryParam("digests")
	if wanted != "" && wanted != "true" && wanted != "false" {
		return refusal.Invalid("digests", "digests is %.40q; it must be true or false", wanted)
	}
	r, _, err := a.readChat(c)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	answer := map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Prompts[0])}
	if wanted == "true" {
		digests := []string{}
		for _, d := range kvcache.Digests(r.BeforeMedia()) {
			digests = append(digests, d.String())
		}
		answer["block_tokens"], answer["digests"] = kvcache.BlockTokens, digests
	}
	return c.JSON(http.StatusOK, answer)
}

func (a API) textCompletion(c echo.Context) error {
	b := &textBody{AnswerFields: Defaults()}
	r, err := a.ReadPrompt(c, b, b.asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, a.describeShape(r, &b.AnswerFields, newTextShape(a.newAnswerHeads("cmpl-", r, &b.AnswerFields), b)), b.Stream)
}

// Read turns the body of an answer that is told as it grows into a request: a chat if it has
// messages, else a text completion.
func Read(from completion.Caller, body []byte) (asked completion.Asked, err error) {
	var probe struct {
		Messages, Prompt json.RawMessage
	}
	if err := wire.Decode(body, &probe); err != nil {
		return asked, err
	}
	switch {
	case isGiven(probe.Messages) && isGiven(probe.Prompt):
		return asked, refusal.Invalid("request", "request has both messages and prompt; it must have one")
	case isGiven(probe.Messages):
		b := &ChatBody{AnswerFields: Defaults()}
		if err := wire.Decode(body, b); err != nil {
			return asked, err
		}
		b.Stream = true // whatever it says
		return b.Asked(from, len(body))
	}
	b := &textBody{AnswerFields: Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return asked, err
	}
	return b.asked(from, len(body))
}

func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

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

// embeddingsBody is POST /v1/embeddings.
type embeddingsBody struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Format     *string         `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`
	User       *string         `json:"user"`           // taken, for nothing
	Normalize  *int            `json:"embd_normalize"` // llama-server's
	TimeoutMS  *int64          `json:"timeout_ms"`     // ours
}

// The formats of a vector.
const (
	formatFloat  = "float"
	formatBase64 = "base64"
)

func (a API) embeddings(c echo.Context) error {
	var b embeddingsBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if b.Format != nil && *b.Format != formatFloat && *b.Format != formatBase64 {
		return refusal.Invalid("encoding_format", "encoding_format is %q; it must be float or base64", *b.Format)
	}
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c),
		ModelName: b.Model, Input: b.Input, Field: "input", OneVector: true, Normalize: b.Normalize, TimeoutMS: b.TimeoutMS,
	})
	if err != nil {
		return err
	}
	defer answer.Release()
	if err := b.shorten(answer.Vectors); err != nil {
		return err
	}
	list := embeddingList{Model: answer.Model, Object: "list", Usage: EmbeddingUsage{answer.Tokens, answer.Tokens}}
	return wire.JSONParts(c, wire.JSONWith(list, "data", wire.JSONList(answer.Vectors, b.entry), nil))
}

// shorten gives vectors the dimensions that were asked for, of length 1 again: those of models
// that are trained for it (Matryoshka) keep their meaning.
func (b *embeddingsBody) shorten(vectors [][][]float32) error {
	if b.Dimensions == nil {
		return nil
	}
	most := len(vectors[0][0])
	if *b.Dimensions < 1 || *b.Dimensions > most {
		return refusal.Invalid("dimensions", "dimensions is %d; the embeddings of this model have %d, of which 1 to all can be asked for", *b.Dimensions, most)
	}
	if *b.Dimensions == most {
		return nil
	}
	for _, v := range vectors {
		v[0] = v[0][:*b.Dimensions]
		embedding.Normalize(v[0], embedding.NormalizeEuclidean)
	}
	return nil
}

// embeddingList is OpenAI's list of embeddings.
type embeddingList struct {
	Model  string         `json:"model"`
	Object string         `json:"object"`
	Usage  EmbeddingUsage `json:"usage"`
	// and data, a list of embeddingObject
}

// EmbeddingUsage counts the tokens of a request for embeddings or scores.
type EmbeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

type embeddingObject struct {
	Embedding any    `json:"embedding"` // numbers, or their bytes in base64
	Index     int    `json:"index"`
	Object    string `json:"object"`
	Format    string `json:"encoding_format,omitempty"` // llama-server tells base64
}

// entry is the answer for one text.
func (b *embeddingsBody) entry(i int, v [][]float32, yield func(any) bool) bool {
	o := embeddingObject{Embedding: v[0], Index: i, Object: "embedding"}
	if b.Format != nil && *b.Format == formatBase64 {
		o.Embedding, o.Format = bytesOf(v[0]), formatBase64
	}
	return yield(o)
}

// bytesOf is a vector as 32-bit numbers, little endian; encoding/json writes bytes in base64.
func bytesOf(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
