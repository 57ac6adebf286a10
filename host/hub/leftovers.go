// SPDX-License-Identifier: MIT

package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/library"
)

// RemoveLeftovers removes from a folder of models, which need not exist, what pulls left that were
// killed and that is of no use to the next: notes that were being written, and notes of files that
// are whole by now. What a living process has there stays.
func RemoveLeftovers(folder string) error {
	notes, _ := filepath.Glob(filepath.Join(folder, "*"+library.PartEnding+library.NoteEnding)) // a pattern in the folder's name finds none
	err := atomicfile.RemoveLeftovers(folder)
	for _, note := range notes { // a part is there before its note
		if _, statErr := os.Lstat(strings.TrimSuffix(note, library.NoteEnding)); errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, atomicfile.Remove(note))
		}
	}
	return err
}
