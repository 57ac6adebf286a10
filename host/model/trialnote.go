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

// trialNote is the path of a file whose existence says that a model has passed its trial, and
// without what. It is empty where nothing can be noted. Only passing is noted: a failure may be
// due to the moment, such as a lack of memory, and trying a bad file again hurts nobody.
type trialNote string

// noteFor names a note after everything the trial depends on: sizes and times of the model's
// files, their headers, this program, the kernels it uses and the level of the CPU that they are
// for, and more for a trial on a GPU.
func noteFor(cacheDir string, in *inspection, more ...any) trialNote {
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
	stamp, _ := native.Build()
	fmt.Fprintln(hash, native.KernelsInUse(), stamp)
	if len(more) > 0 {
		fmt.Fprintf(hash, "%q\n", more)
	}
	return trialNote(filepath.Join(cacheDir, "verdicts", hex.EncodeToString(hash.Sum(nil)[:16])))
}

// noteContent is what the file holds.
type noteContent struct {
	Path  string `json:"path"` // of the model, for people
	Lacks Lacks  `json:"lacks,omitempty"`

	Projector *ProjectorTrial `json:"projector,omitempty"` // of the trial of one; nil: it was none
}

// read reports whether the model has passed, and without what.
func (n trialNote) read() (lacks Lacks, passed bool) {
	content, passed := n.content()
	return content.Lacks, passed
}

// content is what the note says; without one, passed is false.
func (n trialNote) content() (content noteContent, passed bool) {
	if n == "" {
		return content, false
	}
	data, err := os.ReadFile(string(n))
	if err != nil || json.Unmarshal(data, &content) != nil {
		return noteContent{}, false // damaged: it is written again
	}
	return content, true
}

// write notes that a model has passed. Without the note the next start tries the file again,
// nothing else.
func (n trialNote) write(model string, lacks Lacks) { n.keep(noteContent{Path: model, Lacks: lacks}) }

// keep is write with all that is to be kept.
func (n trialNote) keep(content noteContent) {
	if n == "" {
		return
	}
	if data, err := json.Marshal(content); err == nil {
		_ = writeFile(string(n), data)
	}
}

// remove has the next start try the model again.
func (n trialNote) remove() {
	if n != "" {
		_ = os.Remove(string(n)) // it may not be there
	}
}
