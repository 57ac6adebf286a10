// SPDX-License-Identifier: MIT

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/native"
)

// verdictPath is the file whose existence says that a model has passed the trial, and what it lacks. It is named after everything the verdict
// depends on: sizes and times of the model's files, their headers, this program, the kernels it uses, and more for what concerns a GPU. Only good verdicts are kept: a
// failure may be due to the moment, such as a lack of memory, and trying a bad file again hurts nobody. The path is empty
// where nothing can be remembered.
func verdictPath(cacheDir string, in *inspection, more ...any) string {
	program, err := os.Executable()
	if err != nil || cacheDir == "" {
		return ""
	}
	hash := sha256.New()
	for _, path := range append([]string{program}, in.parts...) {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		fmt.Fprintf(hash, "%d %d\n", info.Size(), info.ModTime().UnixNano())
	}
	hash.Write(in.headers)
	fmt.Fprintln(hash, native.KernelsInUse())
	if len(more) > 0 {
		fmt.Fprintf(hash, "%q\n", more)
	}
	return filepath.Join(cacheDir, "verdicts", hex.EncodeToString(hash.Sum(nil)[:16]))
}

// verdict is what the file holds.
type verdict struct {
	Path  string `json:"path"` // for who looks at it
	Lacks Lacks  `json:"lacks,omitempty"`
}

// readVerdict tells whether a model has passed, and without what.
func readVerdict(path string) (lacks Lacks, known bool) {
	if path == "" {
		return nil, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	var v verdict
	if json.Unmarshal(data, &v) != nil {
		return nil, false // damaged: it is written anew
	}
	return v.Lacks, true
}

// writeVerdict notes that a model has passed. Without the note the next start tries the file again, nothing else.
func writeVerdict(path, model string, lacks Lacks) {
	if path == "" {
		return
	}
	if data, err := json.Marshal(verdict{model, lacks}); err == nil {
		_ = writeFile(path, data)
	}
}
