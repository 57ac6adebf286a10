// SPDX-License-Identifier: MIT

package host

import (
	"sync"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/fetch"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/serving"
)

// MediaOptions bounds the pictures and sounds of requests.
func MediaOptions(c config.Media) media.Bounds {
	o := media.Bounds{Pixels: c.ImagePixels, Sound: c.SoundLength, Memory: c.DecodeMemory}
	if c.URLs == "off" {
		return o
	}
	o.Fetch = &fetch.Options{HTTP: c.URLs == "http", Limit: c.URLLimit, Timeout: c.URLTimeout}
	for _, network := range c.URLNetworks {
		o.Fetch.Networks = append(o.Fetch.Networks, network.Prefix)
	}
	return o
}

// usualRate is the rate of sounds that most projectors want, in Hz. Which one a projector wants is
// known once it is loaded.
const usualRate = 16000

// reads is what a model takes besides text, by the header of its projector's file, before anything
// is loaded.
func (m *models) reads(name, path string) (can media.Abilities, with serving.Projector) {
	c := m.settings(name)
	with.Path = c.Model.MMProj
	if with.Path == "" && c.Model.MMProjAuto {
		with.Path = library.ProjectorOf(path)
	}
	if with.Path == "" || len(c.Workers.RPC) > 0 {
		return can, serving.Projector{}
	}
	p, err := m.library.Projector(with.Path)
	if err != nil {
		with.Unused = err.Error()
		return can, with
	}
	if can.Images, with.Kinds = p.Vision != "", p.Kinds(); p.Audio != "" {
		can.AudioRate = usualRate
	}
	return can, with
}

// Seeing implements serving.Models. A client that names no model that is here leaves the choice to
// the server: the first one that sees.
func (m *models) Seeing(name string) string {
	if name != "" && (m.several() || m.config.Model.Strict || m.named(name) != "") {
		return name
	}
	for _, known := range m.names() {
		if m.listed(known).Media.Images {
			return known
		}
	}
	return name
}

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
