// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/tools/must"
)

// pinged connects a client that answers pings, or does not.
func pinged(t *testing.T, r *rig, answers bool) (*websocket.Conn, <-chan struct{}) {
	t.Helper()
	pings := make(chan struct{}, 1000)
	conn, _ := must.Both(websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return answers },
	}))(t)
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // one of them is closed by then
	return conn, pings
}

func TestSocket_Ping_QuietClientStays(t *testing.T) {
	r := newRig(t, func(s *setup) { s.IdlePing = time.Millisecond })
	conn, pings := pinged(t, r, true)
	frames := make(chan []byte)
	go func() {
		defer close(frames)
		for {
			_, data, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			frames <- data
		}
	}()
	for range 5 { // each but the first says that the one before was answered
		<-pings
	}
	must.Do(t, conn.Write(context.Background(), websocket.MessageText, []byte("{}")))
	if frame, open := <-frames; !open || len(frame) == 0 {
		t.Error("the connection is closed")
	}
	conn.CloseNow() //nolint:errcheck // ends the reader
	for range frames {
	}
}

func TestSocket_Ping_SilentClientIsClosed(t *testing.T) {
	r := newRig(t, func(s *setup) { s.IdlePing, s.WriteTimeout = time.Millisecond, 10*time.Millisecond })
	conn, pings := pinged(t, r, false)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if _, data, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("read %q, %v; want an end of the connection", data, err)
	}
	if len(pings) == 0 {
		t.Error("closed without having been asked")
	}
}
