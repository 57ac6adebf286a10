// SPDX-License-Identifier: MIT

package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/session"
)

// TestFixtures_OldModulesBehaveAsBefore loads modules that were built before v1 had its later
// features, and makes the calls of sessions that were written then: each must come out as it did.
// The modules are never built again.
func TestFixtures_OldModulesBehaveAsBefore(t *testing.T) {
	modules, err := filepath.Glob(filepath.Join("testdata", "v1", "*.wasm"))
	if err != nil || len(modules) < 5 {
		t.Fatalf("the fixtures are gone: %v %v", modules, err)
	}
	for _, module := range modules {
		name := strings.TrimSuffix(filepath.Base(module), ".wasm")
		t.Run(name, func(t *testing.T) {
			wasm, err := os.ReadFile(module)
			if err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join("testdata", "v1", name+".*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("it has no sessions: %v", err)
			}
			for _, file := range files {
				f := readSessions(t, file)
				p, err := session.NewPlayer(t.Context(), load.File{Content: wasm}, f, plugin.HostOptions{})
				if err != nil {
					t.Fatal(err)
				}
				play(t, p, f)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
