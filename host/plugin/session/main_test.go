// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	goleak.VerifyTestMain(m)
}

// file is a session file of one session of the plugin "guest", over 40 tokens.
func file(t testing.TB, session string) *File {
	t.Helper()
	return must.Get(Read(strings.NewReader(`{"penstock_session":1,"vocabulary":{"pieces":["<s>` + strings.Repeat(`","x`, 39) + `"],"attributes":{"end":[0]},"special":{"eos":0}},
		"sessions":[{"plugin":{"name":"guest"},` + session + `}]}`)))(t)
}

// play plays the first session of a file on a module.
func play(t testing.TB, f *File, wasm []byte) *Difference {
	t.Helper()
	p := must.Get(NewPlayer(context.Background(), load.File{Content: wasm}, f, plugin.HostOptions{}))(t)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	return must.Get(p.Play(context.Background(), &f.Sessions[0]))(t)
}
