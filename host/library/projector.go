// SPDX-License-Identifier: MIT

package library

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
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

// ProjectorOf is the path of the projector that lies beside the first file of a model:
// mmproj-NAME.gguf, or any mmproj*.gguf where the model has its folder for itself. Empty: there is
// none.
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

// Projector is what the header of a projector file says, which is read only once while the file
// stays as it is. It fails as gguf.CheckProjector does.
func (l *Library) Projector(path string) (gguf.Projector, error) {
	info, err := os.Stat(path)
	if err != nil {
		return gguf.Projector{}, err
	}
	if !info.Mode().IsRegular() {
		return gguf.Projector{}, fmt.Errorf("%s is not a file", path)
	}
	stamp := fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.projectors[path]; ok && r.stamp == stamp {
		return r.projector, r.err
	}
	file, err := os.Open(path)
	if err != nil {
		return gguf.Projector{}, err
	}
	defer file.Close()
	r := projectorReading{stamp: stamp}
	r.projector, r.err = gguf.CheckProjector(file, info.Size())
	l.projectors[path] = r
	return r.projector, r.err
}

// projectorReading is what was read of a projector whose file had this time and length.
type projectorReading struct {
	stamp     string
	projector gguf.Projector
	err       error
}

// bestProjectors are the types of weights that are taken first: those of 16 bits lose nothing, and
// every processor computes with them.
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
