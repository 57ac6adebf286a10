// SPDX-License-Identifier: MIT

package library

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// projectorPrefix begins the names of projector files, with which models see and hear.
const projectorPrefix = "mmproj"

// IsProjector reports whether a file is a projector by its name.
func IsProjector(file string) bool {
	base := filepath.Base(file)
	return strings.HasPrefix(base, projectorPrefix) && strings.HasSuffix(base, ending)
}

// ProjectorName is what the projector of a model is called that lies in a folder with others.
func ProjectorName(model string) string { return projectorPrefix + "-" + model + ending }

// ProjectorOf is the path of the projector that lies beside the first file of a model: mmproj-NAME.gguf, or any mmproj*.gguf where the model
// has its folder for itself. Empty: there is none.
func ProjectorOf(path string) string {
	folder := filepath.Dir(path)
	n, ok := SplitName(filepath.Base(path))
	if !ok {
		return ""
	}
	own := filepath.Join(folder, ProjectorName(n.Model))
	if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() {
		return own
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var found []string
	for _, e := range entries {
		other, ok := SplitName(e.Name())
		switch {
		case !ok || e.IsDir():
		case IsProjector(e.Name()):
			found = append(found, e.Name())
		case other.Model != n.Model:
			return ""
		}
	}
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(folder, BestProjector(found))
}

// bestProjectors are the types of weights that are taken first: those of 16 bits lose nothing, and every processor computes with them.
var bestProjectors = []*regexp.Regexp{regexp.MustCompile(`(?i)(^|[-._])f16[-.]`), regexp.MustCompile(`(?i)[-._]q8_0[-.]`)}

// BestProjector is the one to use of several projectors of a model, by their names.
func BestProjector(names []string) string {
	names = slices.Sorted(slices.Values(names))
	for _, pattern := range bestProjectors {
		if i := slices.IndexFunc(names, pattern.MatchString); i >= 0 {
			return names[i]
		}
	}
	return names[0]
}
