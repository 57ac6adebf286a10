// SPDX-License-Identifier: MIT

package policy

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/plugins/abi"
)

// Plan implements serving.PluginFinder.
func (b *Builder) Plan(ctx context.Context, client string, asked serving.PluginUse) (serving.Plan, error) {
	u := use{PluginUse: asked, client: client}
	if err := b.take(ctx, &u); err != nil {
		return serving.Plan{}, err
	}
	defer u.plugin.Release()
	return planOf(u.plugin), nil
}

// planOf says what a plugin asks for.
func planOf(p *load.Plugin) serving.Plan {
	m := &p.Manifest
	plan := serving.Plan{Implements: slices.Clone(p.Exports), Needs: p.Needed(), View: string(m.View), Hold: m.Hold, TakeBack: m.TakeBack, Place: string(m.Place), Branches: m.Branches, Log: p.Module.PlanLog}
	plan.Implements = slices.DeleteFunc(plan.Implements, func(name string) bool { return slices.Contains(outsideRequests, name) })
	plan.Summary, plan.ConfigSchema = p.Asks()
	if m.View == load.ViewCandidates {
		plan.Candidates = m.Candidates
	}
	return plan
}

// outsideRequests are the exports that are called for no request.
var outsideRequests = []string{abi.ExportABIV1, abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportPlan}

// scriptError is what is wrong with a script that a request brings, or with what it is given, for
// its client alone; nil: it is something else.
func scriptError(u *use, err error) error {
	var config *plugin.ConfigError
	var failed *plugin.ModelError
	var refused *plugin.Refusal
	var fault *plugin.Fault
	field, text := u.ConfigField(""), ""
	switch {
	case u.Source == "" || errors.As(err, &failed):
		return nil
	case errors.As(err, &config):
		field, text = u.ConfigField(config.Field), config.Message
	case errors.As(err, &refused):
		text = cmp.Or(refused.Message, "it is refused, without a reason")
	case errors.As(err, &fault) && !fault.Blameless():
		text = cmp.Or(fault.Said, fault.Error())
	default:
		return nil
	}
	e := &refusal.Error{Kind: refusal.KindInvalid, Code: refusal.ScriptCode, Field: field, Message: field + ": " + text, Public: field + ": the script cannot be used"}
	if at := place.FindStringSubmatch(text); at != nil {
		line, _ := strconv.Atoi(at[1]) // it is made of digits, and 0 is none
		column, _ := strconv.Atoi(at[2])
		e.Numbers = map[string]int{refusal.ScriptLine: line, refusal.ScriptColumn: column}
	}
	return e
}

// place is where the interpreter has found a mistake, as its messages say it.
var place = regexp.MustCompile(`\(script\.js:([0-9]{1,9})(?::([0-9]{1,9}))?\)`)
