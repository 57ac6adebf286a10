// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"io/fs"
	"os"
)

// page opens the files that are served in the place of a page: those of server.ui_dir, if it is
// set and a page is served at all. Links that lead out of the folder are not followed.
func (h *Host) page(ui fs.FS) (fs.FS, error) {
	s := h.config.Server
	if !s.UI || s.UIDir == "" {
		return ui, nil
	}
	var err error
	if h.files, err = os.OpenRoot(s.UIDir); err != nil {
		return nil, fmt.Errorf("open the files to serve (server.ui_dir): %w", err)
	}
	return h.files.FS(), nil
}
