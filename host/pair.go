// SPDX-License-Identifier: MIT

package host

import (
	"sync"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/serving"
)

// pair reports whether both built-in models are served, since no model is configured: the one that
// reads text from the start, and the one that sees once a request asks for it.
func (m *models) pair() bool {
	c := m.config
	return !m.several() && c.Model.Path == "" && c.Model.MMProj == "" && c.Model.MMProjAuto && len(c.Workers.RPC) == 0
}

// builtInVision describes the built-in model that sees while it is not loaded.
var builtInVision = sync.OnceValue(func() serving.Info {
	info := serving.Info{Name: model.BuiltInVisionName, BuiltIn: true, Media: media.Abilities{Images: true}}
	if h, err := model.BuiltInHeader(model.BuiltInVisionName); err == nil { // a test reads it
		d := library.DetailsOf(h)
		info.Family, info.FileType, info.Training, info.Vocabulary = d.Architecture, d.Quantisation, d.Context, d.Vocabulary
		info.Embedding, info.Parameters, info.Size = d.Embedding, d.Parameters, d.Weights
	}
	return info
})
