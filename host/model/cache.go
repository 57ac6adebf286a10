// SPDX-License-Identifier: MIT

package model

import (
	"os"
	"path/filepath"
)

// DefaultCache is the cache folder unless configured: penstock in the user's cache folder. It is
// empty where the system names none.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "penstock")
}
