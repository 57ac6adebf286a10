// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// folder is the model folder for the API.
type folder struct{ *models }

var _ api.Folder = folder{}

// HubClient is a client of the hub that a configuration names, as the environment may, too.
func HubClient(endpoint, agent string) hub.Client {
	return hub.Client{Endpoint: cmp.Or(endpoint, os.Getenv("HF_ENDPOINT")), Token: os.Getenv("HF_TOKEN"), Agent: agent}
}

// Pull implements api.Folder. It takes models of the hub only: a URL would let the admin's key
// reach what only this machine can.
func (f folder) Pull(ctx context.Context, name string, notify func(api.PullProgress)) error {
	reference, err := hub.Parse(strings.TrimSuffix(name, ":latest"))
	if err != nil {
		return refusal.Invalid("model", "%v", err)
	}
	if reference.URL != nil {
		return refusal.Invalid("model", "model is a URL; only models of the hub can be pulled through the API: OWNER/NAME:QUANTISATION")
	}
	client := HubClient(f.config.Models.Hub, "penstock")
	client.Notify = func(e hub.Event) {
		switch e := e.(type) {
		case hub.Planned:
			notify(api.PullProgress{Status: "pulling " + e.Files[0].Name, Total: max(e.Total, 0), Completed: e.Have})
		case hub.Progress:
			notify(api.PullProgress{Status: "pulling", Total: max(e.Total, 0), Completed: e.Done})
		case hub.Retrying:
			notify(api.PullProgress{Status: "trying again: " + e.Err.Error()})
		case hub.Verifying:
			notify(api.PullProgress{Status: "verifying sha256 digest"})
		}
	}
	_, err = client.Pull(ctx, reference, hub.Options{Folder: f.library.Folder})
	return pullError(err)
}

// pullErrors are what can go wrong. What the hub does wrong is not internal, which clients would
// answer by trying again.
var pullErrors = []struct {
	err  error
	kind refusal.Kind
	code string
}{
	{hub.ErrReference, refusal.KindInvalid, "invalid_value"}, {hub.ErrNotFound, refusal.KindNotFound, "model_not_found"},
	{hub.ErrUnauthorized, refusal.KindHubForbids, "hub_refuses"}, {hub.ErrRateLimited, refusal.KindHubBusy, "hub_busy"},
	{hub.ErrServer, refusal.KindImpossible, "hub_fails"}, {hub.ErrHash, refusal.KindImpossible, "wrong_hash"},
	{hub.ErrNotModel, refusal.KindImpossible, "no_model"}, {hub.ErrSpace, refusal.KindImpossible, "no_space"},
	{hub.ErrBusy, refusal.KindConflict, "pulling_already"}, {hub.ErrTaken, refusal.KindConflict, "name_taken"},
}

func pullError(err error) error {
	for _, known := range pullErrors {
		if errors.Is(err, known.err) {
			return &refusal.Error{Kind: known.kind, Code: known.code, Field: "model", Message: err.Error()}
		}
	}
	if errors.Is(err, context.Canceled) {
		return refusal.ErrGone
	}
	return err
}

// Remove implements api.Folder. A model that is loaded is unloaded first.
func (f folder) Remove(name string) error {
	name = strings.TrimSuffix(name, ":latest")
	files, err := f.library.Removable(name)
	if errors.Is(err, library.ErrNotFound) {
		return serving.UnknownModel(name, library.Stems(f.library.Folder)...)
	}
	if err != nil {
		return err
	}
	if known, err := f.find(name); err == nil && (f.several() || known == name) { // else it is not served
		if err := f.Unload(known); err != nil {
			return err
		}
	}
	return f.library.Remove(files)
}
