// SPDX-License-Identifier: MIT

// Package servingtest has a model for tests of the API: its tokens are the bytes of a text.
package servingtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// The sizes of the model.
const (
	Vocabulary = 256  // tokens
	Context    = 2048 // tokens
)

// Info describes the model.
func Info() serving.Info {
	return serving.Info{Name: "toy", Created: time.Unix(1e9, 0), Context: Context, Compute: serving.Compute{Slots: 4},
		Vocabulary: serving.Vocabulary{Size: Vocabulary, FIM: serving.FIM{Prefix: -1, Suffix: -1, Middle: -1, Repository: -1, Separator: -1}}}
}

// Toy is the model's serving.Engine. Some texts in a request make it refuse: a message
// "unrenderable", a text with "untokenizable", a grammar "bad".
type Toy struct {
	Refuse error // of NewChain
}

// Render writes a line for each message.
func (Toy) Render(_ context.Context, c chat.Conversation) (chat.Prompt, error) {
	var b strings.Builder
	for _, m := range c.Messages {
		if m.Content == "unrenderable" {
			return chat.Prompt{}, errors.New("the template raised an exception")
		}
		fmt.Fprintf(&b, "%s:%s\n", m.Role, m.Content)
	}
	return chat.Prompt{Text: b.String()}, nil
}

// Tokenize makes each byte a token.
func (Toy) Tokenize(_ context.Context, text string, _, _ bool) ([]int32, error) {
	if strings.Contains(text, "untokenizable") {
		return nil, fmt.Errorf("%w: it takes too long", chat.ErrInvalidText)
	}
	tokens := make([]int32, len(text))
	for i := range len(text) {
		tokens[i] = max(1, int32(text[i]))
	}
	return tokens, nil
}

// Detokenize makes each token a byte.
func (Toy) Detokenize(tokens []int32) (string, error) {
	b := make([]byte, len(tokens))
	for i, t := range tokens {
		b[i] = byte(t)
	}
	return string(b), nil
}

// Piece is the byte that a token is.
func (Toy) Piece(t int32) string { return string([]byte{byte(t)}) }

// Relaxed implements serving.Engine. The toy follows no schema.
func (Toy) Relaxed(sampling.Constraint) ([]schema.Relaxed, error) { return nil, nil }

// Prepare implements serving.Engine. The toy makes nothing of a constraint.
func (Toy) Prepare(_ context.Context, p sampling.Params) (sampling.Constraint, error) {
	return p.Constraint, nil
}

// Triggers are as they were given.
func (Toy) Triggers(_ context.Context, p sampling.Params) ([]sampling.Trigger, error) {
	return p.GrammarTriggers, nil
}

// PreservedTokens are none.
func (Toy) PreservedTokens(context.Context, sampling.Params) ([]int32, error) { return nil, nil }

// Shown is what the scheduler of the tests shows of a token: its number.
func (Toy) Shown(t int32) string { return " " + strconv.Itoa(int(t)) }

// NewChain chooses the most likely token.
func (e Toy) NewChain(p sampling.Params) ([]chain.Stage, error) {
	if p.Grammar == "bad" {
		return nil, fmt.Errorf("%w: no rule named root", sampling.ErrInvalid)
	}
	return []chain.Stage{schedulertest.Greedy{}}, e.Refuse
}

// MediaEncoder is the toy's serving.MediaEncoder. A picture stands between two tokens, a sound has
// none around it, and the embeddings of both depend on their content.
type MediaEncoder struct {
	Table   *piece.Table
	Before  func(ctx context.Context, caller string) error // each is encoded; nil: nothing
	Encoded atomic.Int32                                   // pictures and sounds
}

// The tokens around a picture.
const (
	PictureBegin = '<'
	PictureEnd   = '>'
)

// rows is how many embeddings a picture or a sound has: 2 to 6.
func rows(item media.Item) int { return 2 + int(item.Hash[0])%5 }

// Encode implements serving.MediaEncoder.
func (e *MediaEncoder) Encode(ctx context.Context, item media.Item, caller, salt string) ([]int32, []*piece.Piece, error) {
	if e.Before != nil {
		if err := e.Before(ctx, caller); err != nil {
			return nil, nil, err
		}
	}
	if item.Picture.Pixels == nil && item.Sound.Mono == nil {
		panic("its pixels and samples are gone")
	}
	e.Encoded.Add(1)
	n := rows(item)
	shape := piece.Shape{Rows: n, Positions: n, Whole: item.Hash[1]%2 == 0}
	if item.Kind == media.Image && item.Hash[2]%2 == 0 {
		shape.Positions, shape.Columns = 1+n/2, 2 // a grid
	}
	p := schedulertest.NewPiece(string(item.Hash[:])+salt, shape)
	tokens, err := e.Table.Add(p)
	if item.Kind == media.Image {
		tokens = append(append([]int32{PictureBegin}, tokens...), PictureEnd)
	}
	return tokens, []*piece.Piece{p}, err
}

// Rows implements serving.MediaEncoder.
func (e *MediaEncoder) Rows(ctx context.Context, item media.Item, caller, salt string, piece func(values []float32, rows int)) error {
	_, pieces, err := e.Encode(ctx, item, caller, salt)
	for _, p := range pieces {
		piece(p.Values, p.Rows)
	}
	return err
}

// Count implements serving.MediaEncoder.
func (*MediaEncoder) Count(item media.Item) (int, error) {
	if item.Kind == media.Image {
		return 2 + rows(item), nil
	}
	return rows(item), nil
}

// OneModel serves a single model. It answers to every name, as llama-server does, since clients
// often send one that they cannot leave out; answers carry the true name.
type OneModel struct {
	Model  *serving.Model
	Strict bool // another name than the model's is refused
}

// Use implements serving.Models.
func (o OneModel) Use(_ context.Context, name string) (*serving.Model, func(), error) {
	if o.Strict && name != "" && name != o.Model.Name && !isBeside(o.Model.Embeddings, name) && !isBeside(o.Model.Scores, name) {
		return nil, nil, serving.UnknownModel(name, o.Model.Name)
	}
	return o.Model, func() {}, nil
}

func isBeside(m *embedding.Model, name string) bool { return m != nil && m.Name == name }

// Seeing implements serving.Models.
func (o OneModel) Seeing(name string) string { return name }

// Loaded implements serving.Models.
func (o OneModel) Loaded(name string) (*serving.Model, func(), error) {
	return o.Use(context.Background(), name)
}

// List implements serving.Models.
func (o OneModel) List() []serving.Listed {
	return []serving.Listed{{Info: o.Model.Info, Digest: o.Model.Digest(), State: "loaded"}}
}

// Residents implements serving.Models.
func (o OneModel) Residents() []serving.Resident {
	return []serving.Resident{{Name: o.Model.Name, Model: o.Model}}
}

// Unload implements serving.Models.
func (o OneModel) Unload(string) error {
	return &refusal.Error{Kind: refusal.KindConflict, Code: "model_kept", Field: "model", Message: "the only model of this server stays loaded"}
}

// NoPlugins stands for the plugins of a request that uses none.
type NoPlugins struct{}

// NewPolicy implements serving.Plugins: the policy has no stages.
func (NoPlugins) NewPolicy(sampling.Params, serving.AnswerInfo) (serving.Policy, error) {
	return serving.Policy{}, nil
}

// Branches implements serving.Plugins.
func (NoPlugins) Branches() int { return 0 }

// Renders implements serving.Plugins.
func (NoPlugins) Renders() bool { return false }

// Rewrite implements serving.Plugins: no plugin rewrites a conversation.
func (NoPlugins) Rewrite(_ context.Context, _ serving.Conversing, m []chat.Message) ([]chat.Message, error) {
	return m, nil
}

// Render implements serving.Plugins: no plugin writes a prompt.
func (NoPlugins) Render(context.Context, serving.Conversing, []chat.Message) (*string, error) {
	return nil, nil
}

// Used implements serving.Plugins: there are none.
func (NoPlugins) Used(chain []string) ([]serving.UsedPlugin, []string) { return nil, chain }

// RefuseTemplates implements serving.Plugins.
func (NoPlugins) RefuseTemplates(string, bool) error { return nil }

// Filtering implements serving.Plugins.
func (NoPlugins) Filtering() string { return "" }

// Again implements serving.Plugins.
func (n NoPlugins) Again(context.Context, serving.Asker, []string) (serving.Plugins, error) {
	return n, nil
}

// Release implements serving.Plugins.
func (NoPlugins) Release() {}

// NoScheduler takes no request.
type NoScheduler struct{}

// Expect implements serving.Scheduler.
func (NoScheduler) Expect() (arrived func()) { return func() {} }

// SubmitBuilt implements serving.Scheduler.
func (NoScheduler) SubmitBuilt(string, int, func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	return nil, scheduler.ErrQueueShare
}

// Inspect implements serving.Scheduler.
func (NoScheduler) Inspect(context.Context, int) (scheduler.Snapshot, error) {
	return scheduler.Snapshot{}, scheduler.ErrClosed
}

// Load implements serving.Scheduler.
func (NoScheduler) Load(context.Context) (scheduler.Load, error) {
	return scheduler.Load{}, scheduler.ErrClosed
}
