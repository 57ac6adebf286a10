// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
)

// loraFiles are the LoRA adapters to load at the start, in llama-server's order.
func loraFiles(m config.Model) (files []adapter.File) {
	for _, path := range m.Lora {
		files = append(files, adapter.File{Path: path, Scale: 1})
	}
	for _, text := range m.LoraScaled {
		if path, scale, err := config.ParseScaled(text); err == nil { // it was checked
			files = append(files, adapter.File{Path: path, Scale: scale})
		}
	}
	if m.LoraInitWithoutApply {
		for i := range files {
			files[i].Scale = 0
		}
	}
	return files
}

func controlVectors(m config.Model) (v engine.ControlVectors) {
	for _, path := range m.ControlVector {
		v.Vectors = append(v.Vectors, engine.ControlVector{Path: path, Scale: 1})
	}
	for _, text := range m.ControlVectorScaled {
		if path, scale, err := config.ParseScaled(text); err == nil { // it was checked
			v.Vectors = append(v.Vectors, engine.ControlVector{Path: path, Scale: scale})
		}
	}
	v.First, v.Last, _ = config.ParseLayers(m.ControlVectorLayerRange) // it was checked
	return v
}
