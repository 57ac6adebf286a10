// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"time"
)

const defaultIdlePing = 30 * time.Second

// ping asks the client whether it is there if nothing was sent to it for a while. This keeps
// proxies from closing the connection, and a connection whose client does not answer is closed. A
// busy connection is not asked: the pong would come only after all that a slow client has yet to
// read.
func (k *connection) ping() {
	every := k.api.IdlePing
	if every == 0 {
		every = defaultIdlePing
	}
	idle := time.NewTicker(every)
	defer idle.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-idle.C:
		}
		if k.wrote.Swap(false) {
			continue
		}
		ctx, done := context.WithTimeout(k.ctx, k.api.writeTimeout())
		err := k.conn.Ping(ctx)
		done()
		if err != nil {
			k.close()
			return
		}
	}
}
