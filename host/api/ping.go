// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"time"
)

const defaultIdlePing = 30 * time.Second

// ping asks a client to which nothing was sent for a while whether it is there: proxies on the way keep the connection
// open, and one whose client does not answer is closed. A busy one needs no asking, and its pong would stand behind all
// that a slow client has yet to read.
func (k *socket) ping() {
	every := k.service.IdlePing
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
		ctx, done := context.WithTimeout(k.ctx, k.service.writeTimeout())
		err := k.conn.Ping(ctx)
		done()
		if err != nil {
			k.close()
			return
		}
	}
}
