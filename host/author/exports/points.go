// SPDX-License-Identifier: MIT

package exports

import (
	"errors"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/spelling"
)

// points are the methods that the SDK calls, in the order of a request.
var points = []struct {
	method string
	face   string // the SDK's interface for it
	export string // the SDK's package below export; empty where all plugins have the export
	works  bool   // a plugin that has this one does something
}{
	{"Warm", "Warmer", "warm", false},
	{"Open", "Opener", "", false},
	{"Rewrite", "Rewriter", "messages", true},
	{"Render", "Renderer", "template", true},
	{"Prepare", "Preparer", "prepare", true},
	{"Sample", "Sampler", "sample", true},
	{"SampleRow", "RowSampler", "sample", true},
	{"Accept", "Accepter", "accept", true},
	{"Draft", "Drafter", "draft", true},
	{"Stop", "Stopper", "stop", true},
	{"Rewind", "Rewinder", "rewind", false},
	{"Close", "Closer", "close", false},
	{"Run", "Runner", "run", true},
}

// check finds what the SDK or the host would not call, or call in vain.
func (p *plugin) check(r registration, methods map[string]*ast.Ident) error {
	var findings []error
	works := false
	for _, point := range points {
		works = works || point.works && methods[point.method] != nil
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if meant := misspelt(name, methods); meant != "" {
			findings = append(findings, p.finding(methods[name].Pos(), "%s has a method %s, which nothing calls; %s is the extension point. Rename it", r.name, name, meant))
		}
	}
	if row := methods["SampleRow"]; row != nil && methods["Sample"] != nil {
		findings = append(findings, p.finding(row.Pos(), "%s has both Sample and SampleRow: a plugin sees the candidates or the whole row. Take one out", r.name))
	}
	if !works && len(findings) == 0 {
		findings = append(findings, p.finding(r.at, "%s has none of the methods %s, so the plugin would do nothing", r.name, strings.Join(working(), ", ")))
	}
	return errors.Join(findings...)
}

// isPoint reports whether the SDK calls methods of a name.
func isPoint(name string) bool {
	for _, point := range points {
		if point.method == name {
			return true
		}
	}
	return false
}

func working() (names []string) {
	for _, point := range points {
		if point.works {
			names = append(names, point.method)
		}
	}
	return names
}

// misspelt is the method that a name is likely meant to be, where the type has no such method;
// empty where there is none. Of names in small letters only the method's own counts: others are
// the plugin's business.
func misspelt(name string, methods map[string]*ast.Ident) string {
	if isPoint(name) {
		return ""
	}
	for _, point := range points {
		if methods[point.method] == nil && (strings.EqualFold(name, point.method) || ast.IsExported(name) && near(name, point.method)) {
			return point.method
		}
	}
	return ""
}

// near reports whether one name is the other with a letter too many, too few, wrong or in another
// place.
func near(a, b string) bool {
	switch spelling.Distance(a, b) {
	case 1:
		return true
	case 2:
		return len(b) >= 6 || slices.Equal(letters(a), letters(b))
	}
	return false
}

func letters(name string) []byte { return slices.Sorted(slices.Values([]byte(strings.ToLower(name)))) }
