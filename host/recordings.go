// SPDX-License-Identifier: MIT

package host

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/recording"
)

// openRecordings opens the folder of recordings; nil: no request is recorded.
func openRecordings(c config.Recordings, log *slog.Logger) *recording.Store {
	if !c.Enabled {
		return nil
	}
	dir := c.Dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			log.Info("no request is recorded: set recordings.dir", slog.Any("because", err))
			return nil
		}
		dir = filepath.Join(cache, "penstock", "recordings")
	}
	return recording.Open(dir, recording.Limits{Size: c.Size, Keep: c.Keep, KeepFor: c.KeepFor}, log)
}
