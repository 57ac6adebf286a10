// SPDX-License-Identifier: MIT

package hub

import (
	"path"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/library"
)

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
		near := shared(path.Dir(one.Path), path.Dir(e.Path))
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

// shared is how many folders two files have in common, from the top.
func shared(a, b string) int {
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
