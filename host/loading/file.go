// SPDX-License-Identifier: MIT

package loading

import (
	"context"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// openFile finds the model's file and tries it as it is to be loaded. Where a GPU does not compute it, the configuration has none from then on.
func (l *loader) openFile(ctx context.Context, o engine.Options) (*model.File, error) {
	c := l.config
	remote := len(c.Workers.RPC) > 0
	if remote { // it is tried in a child, which has no sessions with workers
		o.Model, o.GPULayers = withoutGPU(o.Model), 0
	}
	file, err := model.Open(ctx, c.Model.Path, model.Options{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: o.GPULayers, Workers: remote, Broken: l.Broken, Beside: l.Beside,
		Loading: o.Model, Computing: o.Context,
		Template: c.Chat.Template, TemplateFile: c.Chat.TemplateFile,
		Trying: func() { l.log.Info("trying the model in a child process, as with every new file") },
	})
	if err != nil {
		return nil, err
	}
	l.opened.add(file.Close)
	if file.NoGPU != nil {
		l.config.Model.GPULayers = 0
	}
	return file, nil
}
