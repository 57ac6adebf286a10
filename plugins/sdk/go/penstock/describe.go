// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// A plugin that would load but not work is not described: the host does not load it, and logs why.
//
//go:wasmexport penstock_describe
func exportDescribe() {
	p, wrong := guest.Registered, ""
	var text []byte
	switch {
	case p == nil:
		wrong = "no plugin is registered: write `var _ = penstock.Register[T](…)` at package level"
	case p.Before != nil:
		wrong = "several plugins are registered: a module is one"
	case !Feature(abi.FeatureImplements):
		wrong = "this host calls all that a module exports: the plugin needs a newer one"
	default:
		text, wrong = p.Manifest()
	}
	if wrong != "" {
		Log(Error, wrong) // an earlier host says that nothing was emitted, and has this in its log
		refuse(errors.New(wrong))
		return
	}
	emit(text)
}

// describe is the manifest as JSON, or what is wrong with the plugin's methods.
func describe(m *Manifest, value any) (text []byte, wrong string) {
	_, rows := value.(RowSampler)
	has, works, others := implemented(value)
	switch wrong := wrongMethod(value); {
	case wrong != "":
		return nil, wrong
	case rows && is[Sampler](value):
		return nil, "the plugin's type has both Sample and SampleRow: a plugin sees the candidates or the whole row. Take one out"
	case !works:
		return nil, "the plugin's type has none of the methods Rewrite, Render, Prepare, Sample, SampleRow, Accept, Draft, Stop, Filter and Run, or not as the SDK wants them: it would do nothing. (Register wants the type itself, no pointer to it.)"
	case others && is[Runner](value) && !is[Planner](value):
		return nil, "the plugin's type has Run and a method that is called for a token or a prompt: a program writes the answer itself. Take the other out, or add Plan, which says for each configuration what the plugin is"
	}
	return m.json(rows, is[Planner](value), has), ""
}

// implemented is the list of the exports that the plugin's type has methods for, as JSON, without
// those that a plan leaves out. works tells whether one of them does something, others whether one
// is called for a token or a prompt.
func implemented(value any, without ...Call) (list []byte, works, others bool) {
	list = append(list, `["penstock_open"`...)
	for _, x := range [...]struct {
		found bool
		name  string // without penstock_
		works bool   // a plugin that has this one does something
	}{
		{is[Warmer](value), "warm", false}, {is[Planner](value), "plan", false}, {is[Rewriter](value), "messages", true}, {is[Renderer](value), "template", true},
		{is[Preparer](value), "prepare", true}, {is[Sampler](value) || is[RowSampler](value), "sample", true},
		{is[Accepter](value), "accept", true}, {is[Stopper](value), "stop", true}, {is[Filterer](value), "filter", true}, {is[Drafter](value), "draft", true},
		{is[Rewinder](value), "rewind", false}, {is[Runner](value), "run", true}, {is[Closer](value), "close", false},
	} {
		for _, c := range without {
			x.found = x.found && c != Call("penstock_"+x.name)
		}
		if x.found {
			list = append(append(append(list, `,"penstock_`...), x.name...), '"')
			works = works || x.works
			others = others || x.name == "rewind" || x.works && x.name != "run"
		}
	}
	return append(list, ']'), works, others
}

func is[I any](value any) bool {
	_, ok := value.(I)
	return ok
}
