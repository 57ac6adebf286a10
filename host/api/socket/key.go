// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// A connection that came without a key has so long to send one, in a frame of at most so many
// bytes.
const (
	keyWait     = 5 * time.Second
	maxKeyFrame = 4 << 10
)

// keyFrame is the first frame of a client that could not send its key before.
type keyFrame struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// authenticatedFrame answers it.
type authenticatedFrame struct {
	Type string `json:"type"`
}

var authenticated = authenticatedFrame{"authenticated"}

// authenticate waits for the key of a connection whose client is not known yet. Whatever else
// comes first ends the connection.
func (k *connection) authenticate(c echo.Context) error {
	if wire.HasCaller(c) {
		return nil
	}
	k.conn.SetReadLimit(maxKeyFrame)
	defer k.conn.SetReadLimit(-1)
	ctx, done := context.WithTimeout(k.ctx, keyWait)
	defer done()
	kind, body, err := k.conn.Read(ctx)
	if err != nil {
		return err
	}
	if err := k.checkKey(c, kind, body); err != nil {
		k.send(k.ctx, refusalFrame("", err))
		k.send(k.ctx, closeFrame{websocket.StatusPolicyViolation, "the first frame had no key of this server"})
		<-k.ctx.Done() // the writer has closed it
		return err
	}
	k.caller = wire.CallerOf(c)
	k.send(k.ctx, authenticated)
	return nil
}

func (k *connection) checkKey(c echo.Context, kind websocket.MessageType, body []byte) error {
	var f keyFrame
	if kind == websocket.MessageText && wire.Decode(body, &f) == nil && f.Type == "authenticate" {
		k.allow = func() error { return k.api.Identify(c, f.Key) }
		return k.allow()
	}
	return &refusal.Error{Kind: refusal.KindUnauthenticated, Code: "invalid_api_key",
		Message: `this server needs a key; send it with the request that opens the connection, or in the first frame: {"type":"authenticate","key":"KEY"}`}
}
