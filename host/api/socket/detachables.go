// SPDX-License-Identifier: MIT

package socket

import (
	"cmp"
	"container/list"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// What answers that outlive their connections may take, and what each counts besides its events.
const (
	mostOfCaller = 64 << 20 // bytes
	mostOfAll    = 512 << 20
	runningBytes = 128 << 10 // while it is computed: its ring, see unreadBytes
	keptBytes    = 4 << 10   // once it has ended
)

// unreadBytes is what the events of an answer may take that nobody has read, about: those that are
// read are counted as they are.
func unreadBytes(r *completion.Prompted) int64 {
	each := 8 * max(0, r.Logprobs)
	if r.Params.Trace {
		each += 1024 + 384*len(r.Params.Chain) // a survey after each stage
	}
	n := int64(completion.KeptBuffer * each)
	if r.PromptLogprobs {
		n += int64(len(r.Prompts[0]) * (64 + 8*r.Logprobs))
	}
	return n + int64(4*r.MediaEmbeddings()) // which it needs as long as it is computed
}

// detachables are the detachable answers by the unguessable names of their streams, and what they
// take.
type detachables struct {
	mostOfCaller, mostOfAll int64 // bytes; 0: the usual

	mu       sync.Mutex
	byStream map[string]*detachable
	accounts map[string]*account // by caller
	total    int64               // bytes
}

// account is what the answers of one caller take.
type account struct {
	bytes int64
	kept  list.List // of those that have ended and that nobody reads: who was left first is in front
}

// begin makes room for the answer to a request.
func (d *detachables) begin(a *API, r *completion.Prompted, detach time.Duration) (*detachable, error) {
	begun := &detachable{all: d, api: a, caller: r.Caller, detach: detach}
	if !d.grow(begun, runningBytes+unreadBytes(r)) {
		return nil, &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_detachable", Field: "detach_ms",
			Message: fmt.Sprintf("detach_ms is %d; your answers that may outlive their connections, or those of all clients, take too much memory: "+
				"try again when some have ended, or without detach_ms", detach.Milliseconds())}
	}
	return begun, nil
}

// add lets clients find an answer.
func (d *detachables) add(begun *detachable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byStream == nil {
		d.byStream = map[string]*detachable{}
	}
	d.byStream[begun.name] = begun
}

func (d *detachables) find(stream string) *detachable {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byStream[stream]
}

// grow counts n bytes more for an answer; false where that is too much. To make room, ended
// answers that nobody reads are forgotten: those of its caller, or if all together have too much,
// those of the caller who has most.
func (d *detachables) grow(of *detachable, n int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.account(of.caller.ID)
	defer d.close(of.caller.ID)
	for own.bytes+n > cmp.Or(d.mostOfCaller, mostOfCaller) {
		if !d.forgetOldest(own) {
			return false
		}
	}
	for d.total+n > cmp.Or(d.mostOfAll, mostOfAll) {
		if !d.forgetOldest(d.heaviest()) {
			return false
		}
	}
	if of.removed {
		return false
	}
	d.count(of, n)
	return true
}

// left has a time begin that an answer stays without a reader.
func (d *detachables) left(of *detachable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of.expiry = time.AfterFunc(of.detach, of.expire)
	if of.kept != nil {
		of.oldest = d.account(of.caller.ID).kept.PushBack(of)
	}
}

// keep has an answer that nobody reads stay as its frames, if there is room for them.
func (d *detachables) keep(of *detachable, frames *kept) bool {
	d.mu.Lock()
	d.count(of, -of.bytes)
	d.mu.Unlock()
	if !d.grow(of, frames.bytes+keptBytes) {
		d.remove(of)
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	of.kept = frames
	of.oldest = d.account(of.caller.ID).kept.PushBack(of)
	return true
}

// take has an answer read again; false where its time is up.
func (d *detachables) take(of *detachable) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if of.removed || !of.expiry.Stop() {
		return false
	}
	d.unlist(of)
	return true
}

// remove has an answer found no more.
func (d *detachables) remove(gone *detachable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(gone)
}

// drop is remove. d.mu is held.
func (d *detachables) drop(gone *detachable) {
	if gone.removed {
		return
	}
	gone.removed = true
	d.unlist(gone)
	delete(d.byStream, gone.name)
	d.count(gone, -gone.bytes)
	gone.settled()
}

// unlist has an answer not be forgotten for another. d.mu is held.
func (d *detachables) unlist(of *detachable) {
	if of.oldest != nil {
		d.account(of.caller.ID).kept.Remove(of.oldest)
		of.oldest = nil
	}
}

// account is that of a caller. d.mu is held.
func (d *detachables) account(caller string) *account {
	if d.accounts == nil {
		d.accounts = map[string]*account{}
	}
	if d.accounts[caller] == nil {
		d.accounts[caller] = &account{}
	}
	return d.accounts[caller]
}

// count changes what an answer counts. d.mu is held.
func (d *detachables) count(of *detachable, n int64) {
	own := d.account(of.caller.ID)
	of.bytes += n
	own.bytes += n
	d.total += n
	d.close(of.caller.ID)
}

// close forgets the account of a caller that has nothing. d.mu is held.
func (d *detachables) close(caller string) {
	if a := d.accounts[caller]; a != nil && a.bytes == 0 {
		delete(d.accounts, caller)
	}
}

// forgetOldest forgets of a caller's answers the one that was left first; false where there is
// none. d.mu is held.
func (d *detachables) forgetOldest(of *account) bool {
	first := of.kept.Front()
	if first == nil {
		return false
	}
	oldest := first.Value.(*detachable)
	oldest.expiry.Stop()
	d.drop(oldest)
	return true
}

// heaviest is the account that has most. d.mu is held.
func (d *detachables) heaviest() *account {
	most := &account{}
	for _, a := range d.accounts {
		if a.bytes > most.bytes {
			most = a
		}
	}
	return most
}

// toldOver are those whose end was sent over a connection.
func (d *detachables) toldOver(k *connection) (told []*detachable) {
	d.mu.Lock()
	all := slices.Collect(maps.Values(d.byStream))
	d.mu.Unlock()
	for _, each := range all {
		each.mu.Lock()
		if r := each.reader; r != nil && r.connection == k && r.told.Load() {
			told = append(told, each)
		}
		each.mu.Unlock()
	}
	return told
}
