// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// image is an initialised and warmed instance at rest: its memory and its mutable globals.
// Instances that start from it share its pages until they write to them.
type image struct {
	memory  *memory.Image
	globals []uint64       // by the names in fuel.Module.Globals
	account memory.Account // where its memory was taken from, that of a plan or of a client's module; nil: it does not count
}

// close frees the memory. What began as the image stays.
func (i *image) close() error {
	if i.account != nil {
		i.account.Give(i.memory.Own())
	}
	return i.memory.Close()
}

// Warm initialises an instance, lets it build what all requests need, and keeps it as the image
// that others begin as.
func (m *Module) Warm(ctx context.Context) error {
	kept, session := &deeds{}, m.loading(ctx)
	session.Watcher = kept
	i, err := m.instantiate(ctx, session)
	if err != nil {
		return err
	}
	defer func() { _ = i.Close(false) }() // it lives on in the image
	if err := i.ready(); err != nil {
		return err
	}
	if m.Has(Warm) && m.Env.HasModel() {
		m.WarmFuel, _ = i.Fuel()
	}
	if m.code.Metered.Immovable != "" {
		return nil
	}
	taken := &image{}
	if taken.memory, err = i.region.Snapshot(); err != nil {
		return fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	if m.kept != nil {
		if !m.kept.Take(taken.memory.Own()) {
			_ = taken.close() // the reason is that there is no memory
			return i.Fail(Warm, m.kept.exceeded())
		}
		taken.account = m.kept.share
	}
	if taken.globals, err = fuel.SaveGlobals(i.guest, m.code.Metered.Globals); err != nil {
		return errors.Join(fmt.Errorf("plugin %s: %w", m.Name, err), taken.close())
	}
	m.image, m.Did = taken, kept.list
	return nil
}

// restore makes an instance a copy of the image.
func (i *Instance) restore(from *image) error {
	if err := i.region.Restore(i.guest.Memory(), from.memory); err != nil {
		return fmt.Errorf("plugin %s: %w", i.module.Name, err)
	}
	if err := fuel.LoadGlobals(i.guest, i.module.code.Metered.Globals, from.globals); err != nil {
		return fmt.Errorf("plugin %s: %w", i.module.Name, err)
	}
	return nil
}
