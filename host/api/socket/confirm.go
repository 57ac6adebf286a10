// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// confirmTime is how long a client may take to say that it has all of its answers.
const confirmTime = 5 * time.Second

// flushFrame is no frame: the writer has written all that came before when it takes one.
type flushFrame struct{}

// toConfirm has the client asked, soon, whether it has the answers that it was told the end of.
func (k *connection) toConfirm() {
	select {
	case k.unconfirmed <- struct{}{}:
	default:
	}
}

// confirmEnds asks the client after the end of each answer that it could come back for.
func (k *connection) confirmEnds() {
	for {
		select {
		case <-k.unconfirmed:
			k.confirm()
		case <-k.ctx.Done():
			return
		}
	}
}

// confirm asks the client whether it is there. Its answer shows that it has all that was sent
// before, and so need not come back for that; that bytes were written does not, since they may lie
// in a proxy.
func (k *connection) confirm() {
	told := k.api.detachables.toldOver(k)
	if len(told) == 0 || !k.send(k.ctx, flushFrame{}) {
		return
	}
	ctx, stop := context.WithTimeout(k.ctx, confirmTime)
	defer stop()
	if k.conn.Ping(ctx) == nil {
		settle(told)
	}
}

func settle(told []*detachable) {
	for _, d := range told {
		d.settled()
	}
}

// isDeliberate reports whether the client closed the connection on purpose. A page that is left
// closes it with another status, and may come back.
func isDeliberate(err error) bool {
	status := websocket.CloseStatus(err)
	return status == websocket.StatusNormalClosure || status == websocket.StatusNoStatusRcvd
}
