// SPDX-License-Identifier: MIT

package load

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
)

// How many plans without users are kept.
const (
	mostPlans    = 256
	mostOfClient = 16
	ofMemory     = 32 // plans may take a 32nd of what all instances may have, and a client's a quarter of that
)

// plans caches, for one model, what plugins planned for configurations. It is safe for concurrent
// use.
type plans struct {
	mu   sync.Mutex // guards everything here, and the fields of all plans
	kept map[planKey]*plan
	all  tally            // of all kept plans
	of   map[string]tally // of each client's kept plans
	most int64            // bytes
	now  uint64           // counts uses
}

// newPlans makes an empty cache. memory is what all instances may have, in bytes.
func newPlans(memory int64) plans {
	return plans{kept: map[planKey]*plan{}, of: map[string]tally{}, most: memory / ofMemory}
}

// planKey says what a plan is for. The client is a part of it, so that nobody learns from the time
// that a request takes what others have sent.
type planKey struct {
	plugin *loaded
	client string
	config [sha256.Size]byte
}

// plan is a plugin for one configuration. It may be in the making.
type plan struct {
	key    planKey
	done   chan struct{} // closed once it is made, and its maker is no user of the plugin any more
	over   chan struct{} // closed when nobody waits for it any more
	plugin *Plugin
	err    error // why the configuration is refused
	bytes  uint64
	users  int    // users of the plugin, and those who wait for it
	last   uint64 // when it was used last, as plans.now counts
	made   bool   // plugin or err is there
	gone   bool   // it is not kept: its last user frees it
}

// With returns the plugin for a client's configuration, which CheckConfig has returned. Its
// manifest and its module are narrowed as the plugin's penstock_plan says, and instances start from
// what that call left in memory. Without that export it is p. The caller must Release it, and p as
// well.
//
// # Notes
//
//   - The first call plans; later ones of the same client get the same plugin, for as long as it is
//     kept. Concurrent calls plan once. The end of a context ends the wait, and the planning only
//     if nobody else waits.
//   - It is usable until the model is closed.
//
// # Errors
//
//   - A *plugin.Refusal of the export penstock_plan: the configuration is the client's to mend.
//   - A *plugin.Fault of that export.
//   - A *plugin.QuarantineError for a client that has to wait.
//   - The context's, and plugin.ErrUnknown and ErrClosed.
func (p *Plugin) With(ctx context.Context, client string, config json.RawMessage) (*Plugin, error) {
	if p.of != nil {
		p = p.of
	}
	if !p.Retain() {
		return nil, plugin.Unknown(p.Name)
	}
	if !p.Module.Has(guest.Plan) || !p.model.host.HasModel() {
		return p, nil
	}
	q, err := p.model.plans.usePlan(ctx, p, &plugin.RequestInfo{Client: client, Config: config})
	if err != nil {
		p.Release()
	}
	return q, err
}

// Skipped returns the plugin for a request that goes on without it after a fault of With, which is
// its Fault. The caller must Release it, and p as well.
func (p *Plugin) Skipped(f *plugin.Fault) (*Plugin, error) {
	if p.of != nil {
		p = p.of
	}
	if !p.Retain() {
		return nil, plugin.Unknown(p.Name)
	}
	p.Module.Env.Log.Warn("a request goes on without a plugin", "fault", f)
	q, err := p.narrow(p.Module.As(p.Name, nil, nil), `{"implements":[],"hold":0,"take_back":0,"needs":[]}`)
	if err != nil {
		p.Release()
		return nil, err
	}
	q.Fault = f
	return q, nil
}

// usePlan gives a plan to a new user, who has retained p.
func (c *plans) usePlan(ctx context.Context, p *Plugin, r *plugin.RequestInfo) (*Plugin, error) {
	key := planKey{p.loaded, r.Client, sha256.Sum256(r.Config)}
	c.mu.Lock()
	e := c.kept[key]
	if e == nil {
		var err error
		if e, err = c.beginPlan(p, key, r); err != nil {
			c.mu.Unlock()
			return nil, err
		}
	}
	e.users++
	c.now++
	e.last = c.now
	c.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		c.leave(e)
		return nil, ctx.Err()
	}
	c.mu.Lock()
	q, err := e.plugin, e.err
	c.mu.Unlock()
	if q == nil && err == nil {
		err = plugin.ErrClosed
	}
	if err != nil {
		c.leave(e)
	}
	return q, err
}

// beginPlan has a plugin plan. The caller holds mu.
func (c *plans) beginPlan(p *Plugin, key planKey, r *plugin.RequestInfo) (*plan, error) {
	if err := p.quarantine.Check(r); err != nil {
		return nil, err
	}
	if err := p.model.enter(); err != nil {
		return nil, err
	}
	if !p.Retain() { // the caller has
		p.model.leave()
		return nil, plugin.Unknown(p.Name)
	}
	e := &plan{key: key, done: make(chan struct{}), over: make(chan struct{})}
	c.kept[key] = e
	c.count(e.key.client, 1, 0)
	go func() {
		defer close(e.done)
		defer p.Release()
		defer p.model.leave()
		var q *Plugin
		_, err := p.Module.Plan(e.over, r, func(module *guest.Module, said string) (err error) {
			q, err = p.narrow(module, said)
			return err
		})
		c.finishPlan(e, q, err)
	}()
	return e, nil
}

// finishPlan keeps the outcome of a plan: also a refusal, and an error for which the plugin gave a
// reason. Other errors are not kept: they may not recur, or are counted each time.
func (c *plans) finishPlan(e *plan, q *Plugin, err error) {
	var refusal *plugin.Refusal
	c.mu.Lock()
	defer c.mu.Unlock()
	e.made = true
	if e.err = err; err == nil {
		e.plugin, q.plan, e.bytes = q, e, q.Module.OwnMemory()
		if !e.gone {
			c.count(e.key.client, 0, int64(e.bytes))
		}
	} else if !errors.As(err, &refusal) && !errors.Is(err, plugin.CauseError) && !e.gone {
		c.drop(e)
	}
	if e.gone && e.users == 0 {
		e.free()
	}
	c.trim(e.key.client)
}

// leave removes a user. Planning ends, and is not kept, if nobody waits for it any more.
func (c *plans) leave(e *plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	if !e.made {
		c.drop(e)
		close(e.over)
		return
	}
	if e.gone {
		e.free()
	}
	c.trim(e.key.client)
}

// retain adds a user to a plan; false: it was freed.
func (c *plans) retain(e *plan) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.gone && e.users == 0 {
		return false
	}
	e.users++
	return true
}

// drop removes a plan from the cache. The caller holds mu.
func (c *plans) drop(e *plan) {
	delete(c.kept, e.key)
	e.gone = true
	c.count(e.key.client, -1, -int64(e.bytes))
}

// count adds to the tallies of what is kept. The caller holds mu.
func (c *plans) count(client string, plans int, bytes int64) {
	t := c.of[client]
	t.plans, t.bytes = t.plans+plans, t.bytes+bytes
	c.all.plans, c.all.bytes = c.all.plans+plans, c.all.bytes+bytes
	if c.of[client] = t; t.plans == 0 {
		delete(c.of, client)
	}
}

// trim drops plans without users, the least recently used first, as long as there are too many in
// all or of the client. The caller holds mu.
func (c *plans) trim(client string) {
	for {
		tooMany := c.all.exceeds(mostPlans, c.most)
		if !tooMany && !c.of[client].exceeds(mostOfClient, c.most/4) {
			return
		}
		var oldest *plan
		for _, e := range c.kept {
			if e.users == 0 && (tooMany || e.key.client == client) && (oldest == nil || e.last < oldest.last) {
				oldest = e
			}
		}
		if oldest == nil {
			return
		}
		c.drop(oldest)
		oldest.free()
	}
}

// tally counts plans and the bytes of their memory.
type tally struct {
	plans int
	bytes int64
}

func (t tally) exceeds(plans int, bytes int64) bool { return t.plans > plans || t.bytes > bytes }

// free frees a plan's memory, once. It must have no users.
func (e *plan) free() {
	if e.plugin != nil {
		e.plugin.Module.Close()
		e.plugin = nil
	}
}

// forget drops and frees the plans of a plugin without users; nil: of all plugins.
func (c *plans) forget(p *loaded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.kept {
		if p == nil || e.key.plugin == p {
			c.drop(e)
			e.free()
		}
	}
}

// needs maps a plan's names to the imports for which the host computes or keeps something in
// addition to the call.
var needs = map[string][]string{
	"logprob": {abi.ImportLogprob}, "hidden_state": {abi.ImportState, abi.ImportBranchHiddenState}, "note": {abi.ImportNote},
}

// Needed returns a plan's names of what the host computes or keeps for the plugin.
func (p *Plugin) Needed() []string {
	names := []string{}
	for name, imports := range needs {
		if slices.ContainsFunc(imports, p.Needs) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// planned has the fields of a plan. Those that it leaves out are nil.
type planned struct {
	Implements   *[]string
	View         *View
	Candidates   *int
	Hold         *int
	TakeBack     *int
	Place        *Place
	Branches     *int
	StateLayer   *int
	Summary      *string
	ConfigSchema *json.RawMessage
	Needs        *[]string
}

// read takes the fields of a plan's text.
func (s *planned) read(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := checkDepth(text); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("what was handed to emit is %s; it must be a JSON object", excerpt.Of(string(text), 80))
	}
	if err := takeFields(fields, map[string]any{
		"implements": &s.Implements, "view": &s.View, "candidates": &s.Candidates, "hold": &s.Hold, "take_back": &s.TakeBack, "place": &s.Place,
		"branches": &s.Branches, "summary": &s.Summary, "config_schema": &s.ConfigSchema, "needs": &s.Needs, "state_layer": &s.StateLayer,
	}); err != nil {
		return err
	}
	for _, name := range []string{"name", "version", "strict_mask", "optional", "branches_config"} {
		if value, ok := fields[name]; ok {
			return fmt.Errorf("%s is %s; a plan cannot change it: leave it out, the manifest's counts", name, excerpt.Of(string(value), 80))
		}
	}
	return nil
}

// narrow returns the plugin narrowed by a plan. text is what its guest handed to emit, and module
// the plan's module.
func (p *Plugin) narrow(module *guest.Module, text string) (*Plugin, error) {
	q := &Plugin{loaded: p.loaded, Module: module, Manifest: p.Manifest, model: p.model, of: p}
	var s planned
	if err := s.read([]byte(text)); err != nil {
		return nil, err
	}
	m := &q.Manifest
	if err := s.narrowExports(m, module); err != nil {
		return nil, err
	}
	if err := s.narrowNumbers(m, p.Manifest.View); err != nil {
		return nil, err
	}
	if s.StateLayer != nil { // any costs the same
		m.StateLayer = *s.StateLayer
	}
	if s.Summary != nil {
		m.Summary = *s.Summary
	}
	if s.ConfigSchema != nil {
		m.ConfigSchema = *s.ConfigSchema
		q.asked = sync.OnceValues(func() (*Schema, error) { return NewSchema(m.ConfigSchema) })
	}
	if err := cmp.Or(m.check(module.Has(guest.Sample)), m.checkImplements(module.Exports), m.checkProgram(module)); err != nil {
		return nil, err
	}
	q.Exports = module.Exports
	if s.Needs == nil {
		return q, nil
	}
	q.needs = []string{}
	for _, name := range *s.Needs {
		imports, ok := needs[name]
		if !ok {
			return nil, fmt.Errorf(`needs has %q; it may have "logprob", "hidden_state" and "note"`, excerpt.Of(name, 80))
		}
		q.needs = append(q.needs, imports...)
	}
	return q, nil
}

// narrowExports restricts the host to the calls that the plan lists, and clears the manifest's
// fields that belong to others.
func (s *planned) narrowExports(m *Manifest, module *guest.Module) error {
	hold := m.Hold
	if s.Hold != nil {
		if *s.Hold < 0 || *s.Hold > m.Hold {
			return wideningError("hold", *s.Hold, 0, m.Hold)
		}
		hold = *s.Hold
	}
	var list []string
	if s.Implements != nil {
		list = append([]string{}, *s.Implements...)
		for _, name := range list {
			if !slices.Contains(module.Exports, name) {
				return fmt.Errorf("implements has %q, which the manifest does not implement: a plan can only leave calls out", excerpt.Of(name, 80))
			}
		}
		m.Implements = list
	}
	module.Narrow(list, hold)
	m.Hold = hold
	if !module.Has(guest.Sample) {
		m.View = ViewNone
	}
	if !module.Has(guest.Run) {
		m.Branches, m.BranchesConfig = 0, ""
	}
	return nil
}

// breadth orders views by how much they show.
var breadth = map[View]int{ViewNone: 0, ViewCandidates: 1, ViewLogits: 2}

// narrowNumbers takes the plan's view and numbers, which must not exceed the manifest's. was is the
// manifest's view.
func (s *planned) narrowNumbers(m *Manifest, was View) error {
	if s.View != nil {
		b, ok := breadth[*s.View]
		if !ok || b > breadth[was] {
			return fmt.Errorf("view is %q; the manifest's is %q: a plan can only have that or a narrower one", excerpt.Of(string(*s.View), 80), was)
		}
		m.View = *s.View
	}
	if m.View != was {
		m.Place = ""
		m.fill(m.View == ViewCandidates)
	}
	if s.Place != nil {
		m.Place = *s.Place
	}
	for _, n := range []struct {
		name  string
		said  *int
		field *int
		least int
	}{{"candidates", s.Candidates, &m.Candidates, 1}, {"take_back", s.TakeBack, &m.TakeBack, 0}, {"branches", s.Branches, &m.Branches, 1}} {
		if n.said == nil {
			continue
		}
		if n.name == "branches" && m.Branches == 0 {
			return fmt.Errorf("branches is %d; branches are for plans with %s: leave it out", *n.said, abi.ExportRun)
		}
		if *n.said < n.least || *n.said > *n.field {
			return wideningError(n.name, *n.said, n.least, *n.field)
		}
		*n.field = *n.said
	}
	return nil
}

// wideningError refuses a number that would exceed the manifest's.
func wideningError(field string, said, least, most int) error {
	return fmt.Errorf("%s is %d; the manifest's is %d: a plan can have %d to %d", field, said, most, least, most)
}
