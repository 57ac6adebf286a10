// SPDX-License-Identifier: MIT

package config

import "slices"

// Projector says with what a model sees and hears.
type Projector struct {
	MMProj         string `koanf:"mmproj"`           // a file; empty: what lies beside the model
	MMProjAuto     bool   `koanf:"mmproj_auto"`      // look for one there
	MMProjOffload  bool   `koanf:"mmproj_offload"`   // a GPU computes it
	MMProjDevice   string `koanf:"mmproj_device"`    // which; empty: as the model
	ImageMinTokens int    `koanf:"image_min_tokens"` // of a picture; 0: as the projector's file says
	ImageMaxTokens int    `koanf:"image_max_tokens"` // likewise
}

// projectorKeys are the keys of Projector, with llama-server's flags.
var projectorKeys = []Key{
	{Name: "model.mmproj", Flag: "mmproj", Aliases: []string{"-mm"}, Kind: Text, Default: "",
		Help: "GGUF file of the projector with which the model sees pictures or hears sounds; empty: the one beside the model's file"},
	{Name: "model.mmproj_auto", Flag: "mmproj-auto", Off: []string{"--no-mmproj"}, Kind: Switch, Default: true,
		Allowed: "true or false", Help: "use the projector beside the model's file: mmproj-NAME.gguf, or mmproj*.gguf if the folder has only this model; the file of model.mmproj is always used"},
	{Name: "model.mmproj_offload", Flag: "mmproj-offload", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "let a GPU compute the projector, where there is one"},
	{Name: "model.mmproj_device", Flag: "mmproj-device", Aliases: []string{"-mmdev"}, Kind: Text, Default: "",
		Allowed: "a name that penstock doctor shows, or none", Help: "device that computes the projector; none: the CPU; empty: the first of the model's devices, or the first GPU"},
	{Name: "model.image_min_tokens", Flag: "image-min-tokens", Kind: Integer, Default: 0, check: between(0, mostImageTokens),
		Allowed: "0 to 65536, at most model.image_max_tokens", Help: "fewest tokens of a picture, if the projector allows a choice; 0: as its file says"},
	{Name: "model.image_max_tokens", Flag: "image-max-tokens", Kind: Integer, Default: 0, check: between(0, mostImageTokens),
		Allowed: "0 to 65536", Help: "most tokens of a picture, if the projector allows a choice; 0: as its file says"},
}

const mostImageTokens = 1 << 16

// tokensInOrder reports whether a picture can have as many tokens as are asked for.
func (p Projector) tokensInOrder() bool {
	return p.ImageMaxTokens == 0 || p.ImageMinTokens <= p.ImageMaxTokens
}

// ProjectorDevice names the device that computes the projector of a model, of those that are there
// besides the CPU, the GPUs first; empty: the CPU does.
func (m Model) ProjectorDevice(gpus []string) string {
	switch {
	case m.MMProjDevice == "none", m.MMProjDevice == "" && !m.MMProjOffload:
		return ""
	case m.MMProjDevice != "":
		return m.MMProjDevice
	}
	if i := slices.IndexFunc(m.Device, func(name string) bool { return slices.Contains(gpus, name) || name == "none" }); i >= 0 {
		if m.Device[i] == "none" {
			return ""
		}
		return m.Device[i]
	}
	if len(m.Device) > 0 || len(gpus) == 0 {
		return ""
	}
	return gpus[0]
}
