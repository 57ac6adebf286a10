// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"time"
)

// interval is how often Watch looks.
const interval = time.Second

// Watch scans until ctx is done. It looks at times and sizes only, which works on every file
// system.
func (g *Registry) Watch(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := g.Scan(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			g.log.Warn("the plugin folder is not watched", "error", err)
		}
		failing = err != nil
	}
}
