// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// image is an initialised and warmed instance at rest: its memory and its mutable globals. Instances that start from it
// share its pages until they write to them.
type image struct {
	memory  *memory.Image
	globals []uint64 // by the names in fuel.Module.Globals
}

// Warm initialises an instance, lets it build what all requests need, and keeps it as the image that others begin as.
func (m *Module) Warm(ctx context.Context) error {
	i, err := m.instantiate(ctx, m.loading(ctx))
	if err != nil {
		return err
	}
	defer func() { _ = i.Close(false) }() // it lives on in the image
	if err := i.ready(); err != nil || m.code.Metered.Immovable != "" {
		return err
	}
	taken := &image{}
	if taken.memory, err = i.region.Snapshot(); err != nil {
		return fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	if taken.globals, err = fuel.SaveGlobals(i.guest, m.code.Metered.Globals); err != nil {
		return errors.Join(fmt.Errorf("plugin %s: %w", m.Name, err), taken.memory.Close())
	}
	m.image = taken
	return nil
}

// ready initialises and warms an instance. Without a model there is nothing to warm for.
func (i *Instance) ready() error {
	if err := i.initialize(); err != nil {
		return err
	}
	if !i.module.Has(Warm) || i.module.Host.Vocabulary.Size() == 0 {
		return nil
	}
	if answer, err := i.Call(Warm, 0, 0); err != nil {
		return err
	} else if answer != 0 {
		return i.Refusal(Warm)
	}
	return nil
}

// NewInstance makes an instance that Open can be called on.
func (m *Module) NewInstance(ctx context.Context, s *Session) (*Instance, error) {
	i, err := m.instantiate(ctx, s)
	if err != nil {
		return nil, err
	}
	if m.image == nil {
		err = i.ready()
	} else {
		err = i.restore(m.image)
	}
	if err != nil {
		_ = i.Close(false) // the reason is in err
		return nil, err
	}
	return i, nil
}

func (i *Instance) restore(from *image) error {
	if err := i.region.Restore(i.guest.Memory(), from.memory); err != nil {
		return fmt.Errorf("plugin %s: %w", i.module.Name, err)
	}
	if err := fuel.LoadGlobals(i.guest, i.module.code.Metered.Globals, from.globals); err != nil {
		return fmt.Errorf("plugin %s: %w", i.module.Name, err)
	}
	return nil
}
