// SPDX-License-Identifier: MIT

package completiontest

import (
	"context"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
)

// OneModel serves a single model. It answers to every name, as llama-server does, since clients often send one that they cannot
// leave out; answers carry the true name.
type OneModel struct {
	Model  *completion.Model
	Strict bool // another name than the model's is refused
}

// Use implements completion.Models.
func (o OneModel) Use(_ context.Context, name string) (*completion.Model, func(), error) {
	if o.Strict && name != "" && name != o.Model.Name && !isBeside(o.Model.Embeddings, name) && !isBeside(o.Model.Scores, name) {
		return nil, nil, completion.UnknownModel(name, o.Model.Name)
	}
	return o.Model, func() {}, nil
}

func isBeside(m *embedding.Model, name string) bool { return m != nil && m.Name == name }

// Loaded implements completion.Models.
func (o OneModel) Loaded(name string) (*completion.Model, func(), error) {
	return o.Use(context.Background(), name)
}

// List implements completion.Models.
func (o OneModel) List() []completion.Listed {
	return []completion.Listed{{Info: o.Model.Info, Digest: o.Model.Digest(), State: "loaded"}}
}

// Residents implements completion.Models.
func (o OneModel) Residents() []completion.Resident {
	return []completion.Resident{{Name: o.Model.Name, Model: o.Model}}
}

// Unload implements completion.Models.
func (o OneModel) Unload(string) error {
	return &refusal.Error{Kind: refusal.KindConflict, Code: "model_kept", Field: "model", Message: "the only model of this server stays loaded"}
}
