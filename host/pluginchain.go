// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// use is a plugin that a request uses, with the module that serves it.
type use struct {
	api.PluginUse
	module *plugin.Module
}

// NewChain implements api.Plugins.
func (p *Plugins) NewChain(params sampling.Params, list []api.PluginUse, maxTokens int) ([]chain.Stage, []answer.StopRule, error) {
	uses, err := p.resolve(list, params.Chain)
	defer release(uses)
	if err != nil {
		return nil, nil, err
	}
	params.Chain = arrange(params.Chain, uses)
	if err := checkViews(params.Chain, uses); err != nil {
		return nil, nil, err
	}
	var chain []chain.Stage
	var rules []answer.StopRule
	place, setup := 0, &plugin.Setup{}
	for _, link := range engine.Links(params) {
		if link.Plugin == "" {
			stage, err := p.engine.NewStage(params, link)
			if err != nil {
				return nil, nil, errors.Join(inAPITerms(err), closeAll(chain))
			}
			chain = append(chain, stage)
			continue
		}
		u := find(uses, link.Plugin)
		stage, err := u.module.NewStage(plugin.Request{Client: u.Client, Config: u.Config, Seed: uint64(params.Seed), Place: place,
			Setup: setup, MaxTokens: maxTokens, ContextSize: p.engine.Info().Limits.Positions, Skip: u.Skip})
		if err != nil {
			return nil, nil, errors.Join(refused(u, err), closeAll(chain))
		}
		place++
		chain = append(chain, stage)
		if rule := stage.Rule(); rule != nil {
			rules = append(rules, rule)
		}
	}
	return chain, rules, nil
}

func closeAll(chain []chain.Stage) error {
	var errs []error
	for _, s := range chain {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// inAPITerms tells what the engine finds wrong with parameters.
func inAPITerms(err error) error {
	if errors.Is(err, native.ErrInvalid) {
		return fmt.Errorf("%w: %w", sampling.ErrInvalid, err)
	}
	return err
}

// resolve finds the modules of the operator's plugins, the request's, and those that only its chain names. The modules
// are the caller's to release, whatever the error.
//
// The operator's have no client: they are tried in every request, whatever they did before. Skipped, a policy would be gone
// without a word, and refused, nothing would be served any more.
func (p *Plugins) resolve(list []api.PluginUse, chain []string) ([]use, error) {
	var uses []use
	for _, name := range p.defaults {
		uses = append(uses, use{PluginUse: api.PluginUse{Name: name, Field: "plugins"}})
	}
	for _, u := range list {
		if slices.Contains(p.defaults, u.Name) {
			if err := checkDefault(u); err != nil {
				return nil, err
			}
			continue
		}
		uses = append(uses, use{PluginUse: u})
	}
	for _, name := range chain {
		if name, ok := strings.CutPrefix(name, sampling.PluginPrefix); ok && find(uses, name) == nil {
			uses = append(uses, use{PluginUse: api.PluginUse{Name: name, Field: "samplers"}})
		}
	}
	for i := range uses {
		u := &uses[i]
		var err error
		if u.module, err = p.registry.Find(u.Name); err != nil {
			return uses, refused(u, err)
		}
		if err := u.module.CheckConfig(u.Config); err != nil {
			return uses, refused(u, err)
		}
	}
	return uses, nil
}

// checkDefault refuses to have one of the operator's plugins changed by a request.
func checkDefault(u api.PluginUse) error {
	field, value := u.Field+".on_error", `"skip"`
	switch {
	case len(u.Config) > 0:
		field, value = u.Field+".config", shorten(string(u.Config))
	case !u.Skip:
		return nil
	}
	return badUse(field, "%s is %s; every request here uses plugin %q as the operator has set it up: leave the field out", field, value, u.Name)
}

// shorten keeps a value from filling an error.
func shorten(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

func release(uses []use) {
	for _, u := range uses {
		if u.module != nil {
			u.module.Release()
		}
	}
}

func find(uses []use, name string) *use {
	for i := range uses {
		if uses[i].Name == name {
			return &uses[i]
		}
	}
	return nil
}

// refused tells why a plugin cannot be used, naming the field.
func refused(u *use, err error) error {
	var config *plugin.ConfigError
	var quarantine *plugin.QuarantineError
	switch {
	case errors.As(err, &config):
		return badUse(u.Field+".config"+config.Field, "plugin %s: %v", u.Name, config)
	case errors.As(err, &quarantine):
		return &api.Error{Status: http.StatusTooManyRequests, Code: "plugin_quarantined", Type: "rate_limit_error", Param: u.Field,
			Message: quarantine.Error(), Retry: quarantine.Seconds()}
	case errors.Is(err, plugin.ErrUnknown):
		return badUse(u.Field, "%v", err)
	}
	return err
}

func badUse(field, format string, args ...any) error {
	return &api.Error{Status: http.StatusBadRequest, Code: "invalid_value", Type: "invalid_request_error", Param: field,
		Message: fmt.Sprintf(format, args...)}
}

// Render implements api.Plugins.
func (p *Plugins) Render(ctx context.Context, params sampling.Params, list []api.PluginUse, messages []byte) (text string, ok bool, err error) {
	uses, err := p.resolve(list, params.Chain)
	defer release(uses)
	if err != nil {
		return "", false, err
	}
	var chosen *use
	for i := range uses {
		u := &uses[i]
		switch {
		case !u.module.IsTemplate():
		case chosen != nil:
			return "", false, badUse("plugins", "plugins %q and %q are both templates; a request can have one", chosen.Name, u.Name)
		default:
			chosen = u
		}
	}
	if chosen == nil {
		return "", false, nil
	}
	text, err = chosen.module.Render(ctx, messages, plugin.Request{Client: chosen.Client, Config: chosen.Config, Seed: uint64(params.Seed),
		ContextSize: p.engine.Info().Limits.Positions})
	if err != nil {
		return "", false, refused(chosen, err)
	}
	return text, true, nil
}

// CheckPrompt implements api.Plugins.
func (p *Plugins) CheckPrompt(list []api.PluginUse) error {
	for _, u := range list {
		m, err := p.registry.Find(u.Name)
		if err != nil {
			continue // NewChain will tell
		}
		template := m.IsTemplate()
		m.Release()
		if template {
			return badUse("plugins", "plugin %q is a template: it needs messages, and this request has a prompt", u.Name)
		}
	}
	return nil
}
