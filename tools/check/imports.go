// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// limits is what the code of a package, without its tests, may import besides the standard library.
type limits struct {
	all      bool
	patterns []string // paths below our module, PATH/... for a subtree, or the beginning of other modules' paths
	indirect bool     // the limit also holds for indirect imports
}

var quoted = regexp.MustCompile("`([^`]+)`")

// parseLimits reads the third column of the table of packages: "all" or the patterns in backticks;
// † at the end means that the limit also holds for indirect imports.
func parseLimits(cell string) limits {
	l := limits{all: cell == "all", indirect: strings.HasSuffix(cell, "†")}
	for _, pattern := range quoted.FindAllStringSubmatch(cell, -1) {
		l.patterns = append(l.patterns, pattern[1])
	}
	return l
}

func checkImports(p goPackage, l limits) []string {
	imports := p.Imports
	if l.indirect {
		imports = p.Deps
	}
	var findings []string
	for _, path := range imports {
		if !l.allow(path) {
			findings = append(findings, fmt.Sprintf("%s must not import %s", p.name(), strings.TrimPrefix(path, module+"/")))
		}
	}
	return findings
}

func (l limits) allow(path string) bool {
	if l.all || isStandard(path) {
		return true
	}
	if ours, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.ContainsFunc(l.patterns, func(pattern string) bool { return within(pattern, ours) })
	}
	return slices.ContainsFunc(l.patterns, func(pattern string) bool { return !isStandard(pattern) && within(pattern+"/...", path) })
}

// isStandard tells the standard library from modules by the first part of a path, which has no dot.
// Patterns for our own packages look standard too.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// within reports whether name is pattern or, for PATH/..., PATH or below it.
func within(pattern, name string) bool {
	prefix, subtree := strings.CutSuffix(pattern, "/...")
	return name == prefix || subtree && strings.HasPrefix(name, prefix+"/")
}
