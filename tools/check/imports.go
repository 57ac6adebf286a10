// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/penstock/penstock"

// layer is what one of our packages may import, tests aside. Paths are relative to the module; PATH/... is a subtree.
type layer struct {
	ours       []string // of our own packages
	third      []string // of other modules, by prefix; anyModule lifts the limit
	transitive bool     // the limit on other modules holds for what is imported in turn, too
}

var anyModule = []string{""}

// layers is the table of docs/architecture.md. A package that is not in it, nor below a PATH/..., is a finding.
var layers = map[string]layer{
	"cmd/penstock": {ours: []string{"..."}, third: anyModule},
	"host":         {ours: []string{"host/...", "scheduler/...", "native", "web"}, third: anyModule},
	"host/config":  {third: []string{"github.com/knadh/koanf/", "github.com/spf13/pflag"}},
	"host/api": {ours: []string{"host/chat", "host/sampling", "host/telemetry", "scheduler/...", "web"},
		third: []string{"github.com/labstack/echo/", "github.com/coder/websocket", "golang.org/x/"}},
	"host/policy":  {ours: []string{"host/api", "host/engine", "host/plugin/...", "host/sampling"}},
	"host/catalog": {ours: []string{"host/api", "host/plugin/..."}},
	"host/chat":    {ours: []string{"host/sampling"}, third: []string{"golang.org/x/"}},
	"host/engine":  {ours: []string{"host/chat", "host/sampling", "native", "plugins/abi", "scheduler/..."}, third: []string{"golang.org/x/"}},
	"host/model":   {ours: []string{"host/spelling", "native", "native/gguf"}, third: []string{"golang.org/x/"}},
	"host/bench":   {third: []string{"github.com/coder/websocket", "golang.org/x/"}},
	"host/plugin/...": {ours: []string{"host/plugin/...", "host/sampling", "host/spelling", "plugins/abi", "scheduler/..."},
		third: []string{"github.com/tetratelabs/wazero", "github.com/santhosh-tekuri/jsonschema/", "golang.org/x/"}},
	"host/sampling":           {},
	"host/spelling":           {},
	"host/telemetry":          {ours: []string{"scheduler/..."}, third: anyModule},
	"scheduler":               {ours: []string{"scheduler/answer", "scheduler/chain", "scheduler/estimator", "scheduler/stream"}, transitive: true},
	"scheduler/answer":        {ours: []string{"scheduler/chain"}, transitive: true},
	"scheduler/chain":         {transitive: true},
	"scheduler/estimator":     {transitive: true},
	"scheduler/stream":        {transitive: true},
	"scheduler/schedulertest": {ours: []string{"scheduler/..."}, transitive: true},
	"native":                  {transitive: true},
	"native/gguf":             {transitive: true},
	"native/gguf/synth":       {ours: []string{"native/gguf"}, transitive: true},
	"plugins/abi":             {},
	"plugins/abi/...":         {ours: []string{"plugins/abi/..."}},
	"plugins/asm":             {ours: []string{"plugins/abi"}},
	"plugins/tck":             {ours: []string{"plugins/abi", "plugins/asm"}},
	"plugins/tck/check":       {ours: []string{"host/plugin", "plugins/abi", "scheduler/..."}},
	"plugins/tck/cmd/...":     {ours: []string{"plugins/tck"}},
	"web":                     {},
	"tools/...":               {ours: []string{"..."}, third: anyModule},
}

// goPackage is what `go list -json` says about a package, as far as it matters here.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func checkImports() ([]string, error) {
	list := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	listing, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var findings []string
	for decoder := json.NewDecoder(strings.NewReader(string(listing))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return findings, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		findings = append(findings, checkPackage(p)...)
	}
}

func checkPackage(p goPackage) []string {
	name := strings.TrimPrefix(p.ImportPath, module+"/")
	limits, ok := layerOf(name)
	if !ok {
		return []string{name + " is not in the table of docs/architecture.md and of tools/check; say there what it may import"}
	}
	imports := p.Imports
	if limits.transitive {
		imports = p.Deps
	}
	var findings []string
	for _, path := range imports {
		if !limits.allows(path) {
			findings = append(findings, fmt.Sprintf("%s must not import %s", name, strings.TrimPrefix(path, module+"/")))
		}
	}
	return findings
}

func layerOf(name string) (layer, bool) {
	if limits, ok := layers[name]; ok {
		return limits, true
	}
	for pattern, limits := range layers {
		if within(pattern, name) {
			return limits, true
		}
	}
	return layer{}, false
}

func (l layer) allows(path string) bool {
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.ContainsFunc(l.ours, func(pattern string) bool { return within(pattern, ours) })
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library has no dots there
	}
	return slices.ContainsFunc(l.third, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// within tells whether name is pattern or, for PATH/..., PATH or below it.
func within(pattern, name string) bool {
	prefix, subtree := strings.CutSuffix(pattern, "...")
	if !subtree {
		return pattern == name
	}
	return strings.HasPrefix(name, prefix) || name == strings.TrimSuffix(prefix, "/")
}
