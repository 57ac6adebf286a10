// SPDX-License-Identifier: MIT

package servingtest

import (
	"context"

	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// OneModel serves a single model. It answers to every name, as llama-server does, since clients
// often send one that they cannot leave out; answers carry the true name.
type OneModel struct {
	Model  *serving.Model
	Strict bool // another name than the model's is refused
}

// Use implements serving.Models.
func (o OneModel) Use(_ context.Context, name string) (*serving.Model, func(), error) {
	if o.Strict && name != "" && name != o.Model.Name && !isBeside(o.Model.Embeddings, name) && !isBeside(o.Model.Scores, name) {
		return nil, nil, serving.UnknownModel(name, o.Model.Name)
	}
	return o.Model, func() {}, nil
}

func isBeside(m *embedding.Model, name string) bool { return m != nil && m.Name == name }

// Seeing implements serving.Models.
func (o OneModel) Seeing(name string) string { return name }

// Loaded implements serving.Models.
func (o OneModel) Loaded(name string) (*serving.Model, func(), error) {
	return o.Use(context.Background(), name)
}

// List implements serving.Models.
func (o OneModel) List() []serving.Listed {
	return []serving.Listed{{Info: o.Model.Info, Digest: o.Model.Digest(), State: "loaded"}}
}

// Residents implements serving.Models.
func (o OneModel) Residents() []serving.Resident {
	return []serving.Resident{{Name: o.Model.Name, Model: o.Model}}
}

// Unload implements serving.Models.
func (o OneModel) Unload(string) error {
	return &refusal.Error{Kind: refusal.KindConflict, Code: "model_kept", Field: "model", Message: "the only model of this server stays loaded"}
}
