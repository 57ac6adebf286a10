// SPDX-License-Identifier: MIT

package synth

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/penstock/penstock/native/gguf"
)

// Edit copies the model file at path to w with its header changed. The tensors stay as they are.
func Edit(w io.Writer, path string, change func(*gguf.Header)) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	data := io.NewSectionReader(file, h.DataOffset, info.Size()-h.DataOffset) // writing the header changes DataOffset
	change(h)
	if err := h.Write(w); err != nil {
		return err
	}
	_, err = io.Copy(w, data)
	return err
}
