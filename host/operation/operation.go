// SPDX-License-Identifier: MIT

// Package operation follows each request to its end, for logs, limits, metrics and traces.
//
// An operation is an HTTP request, or a frame of a WebSocket that asks for an answer. It has ended
// when its handler has returned and every answer that it had computed has ended, which may be
// later, if a client leaves or lets an answer go on without it.
//
// # Which address does the log show for a client?
//
// The one that connected. Anybody can write X-Forwarded-For, so it counts only from the addresses
// in server.trusted_proxies.
package operation

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler"
)

// Record is what is known of an operation.
type Record struct {
	ID      string // the request's; the client may have chosen it
	Method  string
	Route   string      // as the router has it, such as /v1/plugins/:name; "" if there is none
	Path    string      // as the client sent it
	Header  http.Header // of the request; not to be changed
	Address string      // of the client
	Key     string      // the name of the client's key; "" if none is asked for
	Model   string      // that answered; "" if none did
	Relaxed []string    // places of the request's JSON schemas that are not enforced

	Begin, End time.Time // of the handler
	Status     int
	Bytes      int64 // sent
	Err        error
	Answers    []AnswerRecord
}

// AnswerRecord is one that the scheduler was asked for.
type AnswerRecord struct {
	scheduler.RequestRecord
	End time.Time
}

// Beside counts the tokens that programs have had computed besides those of prompts and answers.
func (r *Record) Beside() (n int) {
	for _, a := range r.Answers {
		n += a.Usage.Beside()
	}
	return n
}

// Tokens counts those of all prompts and answers. Prompts count in full, whether they were cached
// or not.
func (r *Record) Tokens() (prompt, cached, generated int) {
	for _, a := range r.Answers {
		prompt += a.Usage.Prompt
		cached += a.Usage.Cached
		generated += a.Usage.Generated
	}
	return prompt, cached, generated
}

// Took is the time from the beginning to the end of the handler and of all answers.
func (r *Record) Took() time.Duration { return r.Last().Sub(r.Begin) }

// Last is when the handler and all answers had ended.
func (r *Record) Last() time.Time {
	last := r.End
	for _, a := range r.Answers {
		if a.End.After(last) {
			last = a.End
		}
	}
	return last
}

// Quota is what the sender of a request may use.
type Quota interface {
	// Admit counts one more request, or refuses it.
	Admit() error
	// Steer counts what is done to an answer that goes on, which is less than a request, or refuses
	// it.
	Steer() error
	// Charge counts tokens that were used.
	Charge(tokens int)
}

// Unlimited is the quota of those who may use as much as they like.
type Unlimited struct{}

// Admit implements Quota.
func (Unlimited) Admit() error { return nil }

// Steer implements Quota.
func (Unlimited) Steer() error { return nil }

// Charge implements Quota.
func (Unlimited) Charge(int) {}

// Operation is a request on its way. Its methods may be called from any goroutine, and on nil,
// where they do nothing.
type Operation struct {
	sinks []func(Record)

	mu        sync.Mutex
	record    Record
	quota     Quota
	submitted int // answers
	done      bool
}

// Begin begins an operation. When it has ended, each sink is given its record, once.
func Begin(r Record, sinks ...func(Record)) *Operation {
	r.Begin = time.Now()
	return &Operation{record: r, sinks: sinks, quota: Unlimited{}}
}

type contextKey struct{}

// With returns a context that has the operation.
func (o *Operation) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, o)
}

// From returns the operation of a context; nil if there is none.
func From(ctx context.Context) *Operation {
	o, _ := ctx.Value(contextKey{}).(*Operation)
	return o
}

// SetClient notes the sender of the request: the name of its key, and what it may use.
func (o *Operation) SetClient(key string, quota Quota) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.quota, o.record.Key = quota, key
}

// Admit counts the request as its client's, or returns an error that refuses it.
func (o *Operation) Admit() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	quota := o.quota
	o.mu.Unlock()
	return quota.Admit()
}

// Steer counts what the client does to an answer that goes on, or returns an error that refuses it.
func (o *Operation) Steer() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	quota := o.quota
	o.mu.Unlock()
	return quota.Steer()
}

// Part begins an operation of the same client, which is one frame of its WebSocket. The context
// that it returns has it.
func (o *Operation) Part(ctx context.Context, name string) (context.Context, *Operation) {
	if o == nil {
		return ctx, nil
	}
	o.mu.Lock()
	r, quota := o.record, o.quota
	o.mu.Unlock()
	r.Route += " " + name
	part := Begin(r, o.sinks...)
	part.SetClient(r.Key, quota)
	return part.With(ctx), part
}

// Submitted notes that answers of a model are on their way. Each will have its call of Ended,
// before or after this one.
func (o *Operation) Submitted(model string, answers int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record.Model = model
	o.submitted += answers
}

// Relaxed notes what of the request's JSON schemas is not enforced.
func (o *Operation) Relaxed(places []string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record.Relaxed = places
}

// Ended notes that an answer has ended. It is quick: the scheduler may call it.
func (o *Operation) Ended(r scheduler.RequestRecord) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record.Answers = append(o.record.Answers, AnswerRecord{r, time.Now()})
	o.quota.Charge(r.Usage.Computed())
	if o.done && len(o.record.Answers) == o.submitted {
		go o.report(o.record)
	}
}

// Charge counts tokens that were computed for answers of which none was submitted.
func (o *Operation) Charge(tokens int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if tokens > 0 {
		o.quota.Charge(tokens)
	}
}

// Done notes that the handler has returned, with the status and the number of bytes that it has
// sent.
func (o *Operation) Done(status int, bytes int64, err error) {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.done = true
	o.record.End, o.record.Status, o.record.Bytes, o.record.Err = time.Now(), status, bytes, err
	r, all := o.record, len(o.record.Answers) == o.submitted
	o.mu.Unlock()
	if all {
		o.report(r)
	}
}

func (o *Operation) report(r Record) {
	for _, sink := range o.sinks {
		sink(r)
	}
}
