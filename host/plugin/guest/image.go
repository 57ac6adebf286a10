// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// image is an initialised and warmed instance at rest: its memory and its mutable globals.
// Instances that start from it share its pages until they write to them.
type image struct {
	memory  *memory.Image
	globals []uint64       // by the names in fuel.Module.Globals
	account memory.Account // what a plan's or a client's module's memory was taken from; nil: it does not count
}

// close frees the memory. What began as the image stays.
func (i *image) close() error {
	if i.account != nil {
		i.account.Give(i.memory.Own())
	}
	return i.memory.Close()
}

// Warm initialises an instance, lets it build what all requests need, and keeps it as the image
// that other instances begin as.
func (m *Module) Warm(ctx context.Context) error {
	kept, session := &deeds{}, m.newLoadingSession(ctx)
	session.Watcher = kept
	i, err := m.instantiate(ctx, session)
	if err != nil {
		return err
	}
	defer func() { _ = i.Close(false) }() // it lives on in the image
	if err := i.initializeAndWarm(); err != nil {
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

// Plan has the guest plan for the configuration of a request, in an instance of its own, and
// returns the module as it is for that configuration: its instances start from what the plan left
// in memory. read takes what the guest handed to emit, and may Narrow the module; what it says is
// wrong is the guest's fault. Nothing else of the request is told to the guest. The call ends when
// done is closed.
//
// The module needs m's image, so it must be closed before m.
//
// # Errors
//
//   - A *plugin.Refusal if the guest refuses the configuration.
//   - A *plugin.Fault of the guest.
func (m *Module) Plan(done <-chan struct{}, r *plugin.RequestInfo, read func(planned *Module, said string) error) (_ *Module, err error) {
	kept, s := &deeds{}, m.NewSession(&plugin.RequestInfo{Client: r.Client, Config: r.Config})
	s.Done, s.Watcher = done, kept
	i, err := m.newPlanned(s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.Close(false) }() // it lives on in the image
	planned := *m
	planned.Exports, planned.Planned, planned.borrows = slices.Clone(m.Exports), kept.list, true
	planned.borrowsImage = false
	planned.PlanFuel, _ = i.Fuel()
	for _, line := range s.log.last() {
		planned.PlanLog = append(planned.PlanLog, string(dropCutCharacter([]byte(line[:min(len(line), longestKept)]))))
	}
	planned.has[Plan] = false
	if err := read(&planned, i.Emitted()); err != nil {
		return nil, i.Fail(Plan, &Violation{plugin.CauseAnswer, "the plan cannot be used", err.Error()})
	}
	if planned.image, err = i.takeDifference(); err != nil {
		return nil, err
	}
	return &planned, nil
}

// longestKept is how many bytes of a line of a plan's log are kept.
const longestKept = 1000

// Plans returns what the guest hands to emit when it plans for a configuration, without a model.
// The errors are those of Plan.
func (m *Module) Plans(ctx context.Context, config []byte) ([]byte, error) {
	s := m.newLoadingSession(ctx)
	s.config = config
	i, err := m.newPlanned(s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.Close(false) }() // what it emitted is copied
	return bytes.Clone(i.emitted), nil
}

// newPlanned returns an instance that has planned for the configuration of a session.
func (m *Module) newPlanned(s *Session) (*Instance, error) {
	i, err := m.NewInstance(context.Background(), s)
	if err != nil {
		return nil, err
	}
	answer, err := i.Call(Plan, 0, 0)
	if err == nil && answer != 0 {
		err = i.Refusal(Plan)
	}
	if err != nil {
		_ = i.Close(false) // the reason is in err
		return nil, err
	}
	return i, nil
}

// Narrow restricts the host to the exports in a list, and instances to taking back at most hold
// tokens.
func (m *Module) Narrow(exports []string, hold int) {
	if exports != nil {
		m.CallOnly(exports)
	}
	m.Hold = hold
}

// takeDifference makes an image of what the instance changed in the image that it began as.
func (i *Instance) takeDifference() (*image, error) {
	from, env := i.module.image, i.module.Env
	own, err := i.region.Difference(from.memory, env.Limits.PlanMemory)
	if errors.Is(err, memory.ErrChanged) {
		return nil, i.Fail(Plan, Violationf(plugin.CauseLimit, "%v; keep less of the configuration", err))
	} else if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", i.module.Name, err)
	}
	account := i.module.account(i.session)
	if !account.Take(own.Own()) {
		_ = own.Close() // the reason is that there is no memory
		return nil, i.Fail(Plan, i.exceeded())
	}
	planned := &image{memory: own, account: account}
	if planned.globals, err = fuel.SaveGlobals(i.guest, i.module.code.Metered.Globals); err != nil {
		return nil, errors.Join(fmt.Errorf("plugin %s: %w", i.module.Name, err), planned.close())
	}
	return planned, nil
}

// OwnMemory is how many bytes of memory the module's plan takes.
func (m *Module) OwnMemory() uint64 { return m.image.memory.Own() }

// Immovable says why instances cannot start from a copy of another's memory; empty: they can.
func (m *Module) Immovable() string { return m.code.Metered.Immovable }
