// SPDX-License-Identifier: MIT

package loading

import (
	"context"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
)

// openAdapters loads the LoRA adapters that are there from the start.
func (l *loader) openAdapters(ctx context.Context, e *engine.Engine, file *model.File) (*adapter.Registry, error) {
	adapters, err := adapter.Open(ctx, e, file.Path, model.Options{
		Folder: l.config.Models.Dir,
		Trying: func() { l.log.Info("trying the LoRA adapter in a child process, as with every new file") },
	}, loraFiles(l.config.Model))
	if err != nil {
		return nil, err
	}
	l.opened.add(adapters.Close)
	return adapters, nil
}

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
