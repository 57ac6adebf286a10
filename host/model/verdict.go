// SPDX-License-Identifier: MIT

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// verdictPath is the file whose existence says that a model has passed the trial. It is named after everything the verdict
// depends on: sizes and times of the model's files, their headers, and this program. Only good verdicts are kept: a
// failure may be due to the moment, such as a lack of memory, and trying a bad file again hurts nobody. The path is empty
// where nothing can be remembered.
func verdictPath(cacheDir string, in *inspection) string {
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
	return filepath.Join(cacheDir, "verdicts", hex.EncodeToString(hash.Sum(nil)[:16]))
}
