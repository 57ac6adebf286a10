// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// steered is a stream that takes any chain.
type steered struct{ serving.Stream }

func (steered) SetChain(context.Context, []chain.Stage) error { return nil }

func (steered) Conversation(context.Context) (prompt []scheduler.Token, answered answers.Begun, err error) {
	return []scheduler.Token{1}, answers.Begun{}, nil
}

// While another connection takes an answer over, the one that had it may still be steering it.
func TestAnswer_Steer_FromTwoConnections(t *testing.T) {
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: servingtest.NoScheduler{}}
	api := &API{Server: &wire.Server{Service: completion.NewService(servingtest.OneModel{Model: m})}}
	d := &detachable{stream: steered{}, request: submitted(t, m)}
	var connections sync.WaitGroup
	for range 2 {
		connections.Go(func() {
			k := &connection{api: api, ctx: t.Context(), answers: map[string]*answer{}}
			a := &answer{connection: k, id: "a", stream: d.stream, choice: &completion.Choice{Request: d.request}, detachable: d}
			for range 20 {
				if err := a.steer(clientFrame{Type: "set", Sampling: json.RawMessage(`{"logit_bias":{"3":1},"temperature":0.5}`)}); err != nil {
					t.Error(err)
				}
				if _, err := k.forked(t.Context(), a, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	connections.Wait()
	if got := d.request.Params.Temperature; got != 0.5 {
		t.Errorf("the temperature is %v", got)
	}
}
