// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/serving"
)

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
