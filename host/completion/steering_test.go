// SPDX-License-Identifier: MIT

package completion_test

import (
	"context"
	"errors"
	"testing"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// reloading is a model that is loaded anew for each use.
type reloading struct {
	servingtest.OneModel
	used int // at this time
}

func (r *reloading) Use(context.Context, string) (*serving.Model, func(), error) {
	r.used++
	return &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: servingtest.NoScheduler{}}, func() { r.used-- }, nil
}

// begun is an answer that has begun.
type begun struct{ serving.Stream }

func (begun) Conversation(context.Context) (prompt []scheduler.Token, answered answer.Begun, err error) {
	return []scheduler.Token{1}, answer.Begun{Tokens: []scheduler.Token{2}}, nil
}

// An answer whose model was unloaded meanwhile has ended: its adapters and plugins are not those
// of the model that has its name now.
func TestService_Fork_ModelWasUnloaded(t *testing.T) {
	models := &reloading{}
	s := completion.NewService(models)
	common := completion.DefaultCommonFields()
	p, err := s.Prompt(t.Context(), completion.Asked{Common: common, Source: completion.Text("a")})
	if err != nil {
		t.Fatal(err)
	}
	r := &completion.Submitted{Prompted: p}
	_, err = s.Fork(t.Context(), r, begun{}, 0, func(*sampling.ParamFields) error { return nil })
	if !errors.Is(err, scheduler.ErrEnded) {
		t.Errorf("%v, want ErrEnded", err)
	}
	r.Release()
	if models.used != 0 {
		t.Errorf("the model is used %d times", models.used)
	}
}
