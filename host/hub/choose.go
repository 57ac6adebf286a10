// SPDX-License-Identifier: MIT

package hub

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/library"
)

// usual are the quantisations that are taken if none is asked for, in llama.cpp's order. If a
// repository has neither, its first model is taken.
var usual = []string{"Q4_K_M", "Q8_0"}

// companions are words in the names of files that are no models of their own, as llama.cpp has
// them.
var companions = []string{"mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-"}

// choose picks the files of one model: those of a quantisation, or the file that is named, with
// all its parts.
func choose(r Reference, all []entry) ([]entry, error) {
	var models []entry
	for _, e := range all {
		if isModel(e) {
			models = append(models, e)
		}
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("%w: the repository %s has no GGUF file; look for one whose name ends in -GGUF", ErrNotFound, r.Repository)
	}
	one, found := pickFirst(r, all, models)
	switch {
	case !found && r.File != "":
		return nil, fmt.Errorf("%w: the repository %s has no %s; it has %s", ErrNotFound, r.Repository, r.File, strings.Join(names(models), ", "))
	case !found:
		return nil, fmt.Errorf("%w: the repository %s has no %s; it has %s", ErrNotFound, r.Repository, r.Quant, strings.Join(quantisations(models), ", "))
	}
	return withParts(one, all)
}

func isModel(e entry) bool {
	name := path.Base(e.Path)
	n, ok := library.SplitName(name)
	return e.Type == "file" && ok && n.Part == 1 &&
		!slices.ContainsFunc(companions, func(word string) bool { return strings.Contains(name, word) })
}

// pickFirst finds the first file of the model that is meant.
func pickFirst(r Reference, all, models []entry) (entry, bool) {
	find := func(list []entry, is func(string) bool) (entry, bool) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Type == "file" && is(e.Path) })
		if i < 0 {
			return entry{}, false
		}
		return list[i], true
	}
	if r.File != "" { // also one that would not be chosen
		wanted := r.File
		if n, ok := library.SplitName(wanted); ok {
			wanted = n.All()[0]
		}
		return find(all, func(p string) bool { return p == wanted })
	}
	wanted := usual
	if r.Quant != "" {
		wanted = []string{r.Quant}
	}
	for _, quant := range wanted {
		pattern := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(quant) + `[.-]`)
		if e, found := find(models, pattern.MatchString); found {
			return e, true
		}
	}
	return models[0], r.Quant == ""
}

// withParts finds the other parts of a model.
func withParts(one entry, all []entry) ([]entry, error) {
	n, _ := library.SplitName(one.Path)
	var found []entry
	for _, name := range n.All() {
		i := slices.IndexFunc(all, func(e entry) bool { return e.Type == "file" && e.Path == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: the repository lacks %s, a part of the model; ask its owner, or take another quantisation", ErrNotFound, name)
		}
		found = append(found, all[i])
	}
	return found, nil
}

func names(models []entry) (list []string) {
	for _, e := range models {
		list = append(list, e.Path)
	}
	return list
}

var quantEnding = regexp.MustCompile(`(?i)[-.]([A-Z0-9_]+)$`)

// quantisations finds the quantisations in the names of files.
func quantisations(models []entry) (list []string) {
	for _, e := range models {
		n, _ := library.SplitName(e.Path)
		if m := quantEnding.FindStringSubmatch(n.Model); m != nil && !slices.Contains(list, strings.ToUpper(m[1])) {
			list = append(list, strings.ToUpper(m[1]))
		}
	}
	if list == nil {
		return names(models)
	}
	return list
}

// projectorFor finds the projector of a model in its repository: of those that lie nearest to it
// the best.
func projectorFor(one entry, all []entry) (entry, bool) {
	nearest := -1
	var found []string
	for _, e := range all {
		name := path.Base(e.Path)
		if e.Type != "file" || !strings.Contains(name, "mmproj") || path.Ext(name) != ".gguf" {
			continue
		}
		near := sharedFolders(path.Dir(one.Path), path.Dir(e.Path))
		if near > nearest {
			nearest, found = near, nil
		}
		if near == nearest {
			found = append(found, e.Path)
		}
	}
	if len(found) == 0 {
		return entry{}, false
	}
	best := library.BestProjector(found)
	return all[slices.IndexFunc(all, func(e entry) bool { return e.Path == best })], true
}

// sharedFolders is how many folders two files have in common, from the top.
func sharedFolders(a, b string) int {
	n := 0
	for x, y := strings.Split(a, "/"), strings.Split(b, "/"); n < min(len(x), len(y)) && x[n] == y[n]; n++ {
	}
	return n
}

// partsOf is how many of the files are the model's own: behind them there may be its projector. A
// projector that was asked for is the first.
func partsOf(files []File) int {
	if last := len(files) - 1; last > 0 && library.IsProjector(files[last].Name) {
		return last
	}
	return len(files)
}
