// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// testLibraries are the modules that the product's go.mod requires for tests alone. Tests
// everywhere use them; what only some need is required by testsModule, and the tests that need it
// are there.
var testLibraries = []string{"github.com/google/go-cmp", "go.uber.org/goleak"}

// goModule is what `go mod edit -json` says of a go.mod.
type goModule struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
}

// checkModules finds modules that the product's go.mod requires and only tests import, and those
// of which testsModule has another version: its tests would then run another program than the one
// that is built.
func checkModules() ([]string, error) {
	packages, err := packagesOf(".")
	if err != nil {
		return nil, err
	}
	product, err := readModule("go.mod")
	if err != nil {
		return nil, err
	}
	tests, err := readModule(testsModule + "/go.mod")
	if err != nil {
		return nil, err
	}
	return append(findTestOnly(product, packages), findOtherVersions(product, tests)...), nil
}

func readModule(path string) (goModule, error) {
	var m goModule
	text, err := exec.Command("go", "mod", "edit", "-json", path).Output()
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("go mod edit -json %s: %w", path, err)
	}
	return m, nil
}

// findTestOnly finds direct requirements that no package imports outside its tests.
func findTestOnly(product goModule, packages []goPackage) (findings []string) {
	for _, required := range product.Require {
		imports := func(p goPackage) bool {
			return slices.ContainsFunc(p.Imports, func(path string) bool { return within(required.Path+"/...", path) })
		}
		if !required.Indirect && !slices.Contains(testLibraries, required.Path) && !slices.ContainsFunc(packages, imports) {
			findings = append(findings, fmt.Sprintf("go.mod: only tests import %s: move them to %s", required.Path, testsModule))
		}
	}
	return findings
}

// findOtherVersions finds modules of which the tests have another version than the product.
func findOtherVersions(product, tests goModule) (findings []string) {
	versions := map[string]string{}
	for _, required := range product.Require {
		versions[required.Path] = required.Version
	}
	for _, required := range tests.Require {
		ours, shared := versions[required.Path]
		if shared && ours != required.Version && !strings.HasPrefix(required.Path, module) {
			findings = append(findings, fmt.Sprintf("%s/go.mod: %s is %s, in go.mod it is %s", testsModule, required.Path, required.Version, ours))
		}
	}
	return findings
}
