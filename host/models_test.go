// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/refusal"
)

// What a module said while it was loaded its client is told, and nobody else.
func TestModuleError_TellsItsClientAlone(t *testing.T) {
	for name, err := range map[string]error{
		"a fault": &plugin.Fault{Plugin: "canary", Export: "penstock_warm", Cause: plugin.CauseTrap, Log: []string{"canary"}}, "a manifest": fmt.Errorf("%w: canary", plugin.ErrManifest),
	} {
		var refused *refusal.Error
		if !errors.As(moduleError(err), &refused) || !strings.Contains(refused.Message, "canary") || strings.Contains(refused.Error(), "canary") {
			t.Errorf("%s: %+v", name, refused)
		}
	}
	if moduleError(nil) != nil {
		t.Error("nothing is an error")
	}
}
