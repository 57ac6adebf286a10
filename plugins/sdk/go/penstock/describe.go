// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/guest"

// A plugin that would load but not work is not described: the host does not load it, and logs why.
//
//go:wasmexport penstock_describe
func exportDescribe() {
	p := guest.Registered
	switch {
	case p == nil:
		fail("no plugin is registered: write `var _ = penstock.Register[T](…)` at package level")
	case p.Before != nil:
		fail("several plugins are registered: a module is one")
	}
	text, wrong := p.Manifest()
	if wrong != "" {
		fail(wrong)
	}
	emit(text)
}

func fail(reason string) {
	Log(Error, reason)
	panic(reason)
}

// describe is the manifest as JSON, or what is wrong with the plugin's methods and exports.
func describe(m *Manifest, value any) (text []byte, wrong string) {
	_, samples := value.(Sampler)
	_, rows := value.(RowSampler)
	switch has := pointsOf(value); {
	case samples && rows:
		return nil, "the plugin's type has both Sample and SampleRow: a plugin sees the candidates or the whole row. Take one out"
	case has&(guest.HasRewrite|guest.HasDraft|guest.HasRender|guest.HasPrepare|guest.HasSample|guest.HasAccept|guest.HasStop|guest.HasRun) == 0:
		return nil, "the plugin's type has none of the methods Rewrite, Render, Prepare, Sample, SampleRow, Accept, Draft, Stop and Run, or not as the SDK wants them: it would do nothing"
	case has&guest.HasRun != 0 && has&(guest.HasRewrite|guest.HasDraft|guest.HasRender|guest.HasPrepare|guest.HasSample|guest.HasAccept|guest.HasStop|guest.HasRewind) != 0:
		return nil, "the plugin's type has Run and a method that is called for a token or a prompt: a program writes the answer itself. Take the other out"
	case has != guest.Exported:
		return nil, exportsWrong(has) + ". Run `penstock plugin exports` in the plugin's folder and build it again"
	}
	return m.json(rows, pointsOf(value)), ""
}

// pointsOf are the extension points that a plugin's type has methods for.
func pointsOf(value any) (has guest.Points) {
	for _, x := range [...]struct {
		found bool
		point guest.Points
	}{
		{is[Warmer](value), guest.HasWarm}, {is[Renderer](value), guest.HasRender}, {is[Preparer](value), guest.HasPrepare},
		{is[Sampler](value) || is[RowSampler](value), guest.HasSample}, {is[Accepter](value), guest.HasAccept},
		{is[Stopper](value), guest.HasStop}, {is[Rewinder](value), guest.HasRewind}, {is[Closer](value), guest.HasClose},
		{is[Rewriter](value), guest.HasRewrite}, {is[Drafter](value), guest.HasDraft},
		{is[Runner](value), guest.HasRun},
	} {
		if x.found {
			has |= x.point
		}
	}
	return has
}

func is[I any](value any) bool {
	_, ok := value.(I)
	return ok
}

// exportsWrong names the first method without an export, or export without a method.
func exportsWrong(has guest.Points) string {
	method := [...]string{"Warm", "Render", "Prepare", "Sample or SampleRow", "Accept", "Stop", "Rewind", "Close", "Rewrite", "Draft", "Run"}
	export := [...]string{"warm", "template", "prepare", "sample", "accept", "stop", "rewind", "close", "messages", "draft", "run"}
	for i := range method {
		bit := guest.Points(1) << i
		if has&bit != 0 && guest.Exported&bit == 0 {
			return "the plugin's type has the method " + method[i] + ", but the module does not export penstock_" + export[i]
		}
		if has&bit == 0 && guest.Exported&bit != 0 {
			return "the module exports penstock_" + export[i] + ", but the plugin's type has no method " + method[i]
		}
	}
	return ""
}
