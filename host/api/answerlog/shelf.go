// SPDX-License-Identifier: MIT

package answerlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// MaxStay is the longest time that an answer may outlive its connection.
const MaxStay = 10 * time.Minute

// The bounds of what the logs of answers that outlive their connections may take, and what each
// counts besides its frames.
const (
	mostOfCaller = 64 << 20 // bytes
	mostOfAll    = 512 << 20
	runningBytes = 128 << 10 // while it is computed: its ring, see unreadBytes
	endedBytes   = 4 << 10
)

// unreadBytes is about what the events in the ring of an answer take, and what it needs besides
// while it is computed.
func unreadBytes(r *completion.Prompted) int64 {
	each := 8 * max(0, r.Logprobs)
	if r.Params.Trace {
		each += 1024 + 384*len(r.Params.Chain) // a survey after each stage
	}
	n := int64(scheduler.DefaultBuffer * each)
	if r.PromptLogprobs {
		n += int64(len(r.Prompts[0]) * (64 + 8*r.Logprobs))
	}
	return n + int64(4*r.MediaEmbeddings())
}

// Shelf has the logs of answers that may outlive their connections, by the names of their streams,
// which cannot be guessed, and bounds what they take.
type Shelf struct {
	Replica string                  // names this server among others that serve the same; empty: it is the only one
	Hold    func() (release func()) // has the host go on until release is called, or its time is up

	mostOfCaller, mostOfAll int64 // bytes; 0: the usual

	mu       sync.Mutex
	byStream map[string]*Log
	accounts map[string]*account // by caller
	total    int64               // bytes
}

// account is what the logs of one caller take.
type account struct {
	bytes int64
	left  []*Log // have ended, and nobody reads them: the one that was left first is in front
}

// shelved is what a shelf knows of a log. All but the first three are under its lock.
type shelved struct {
	name   string // of the stream, without the server's
	caller completion.Caller
	stay   time.Duration // how long it stays without a reader; 0: it is not on the shelf

	bytes    int64
	reserved int64 // of them, while the answer is computed
	gone     bool
	expiry   *time.Timer // runs while nobody reads it; nil before
	held     bool        // the host waits for the client, until release is called
	release  func()
}

// reserve makes room for the answer to a request.
func (s *Shelf) reserve(l *Log, r *completion.Prompted) error {
	if l.reserved = runningBytes + unreadBytes(r); s.grow(l, l.reserved) {
		return nil
	}
	return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_detachable", Field: "detach_ms",
		Message: fmt.Sprintf("detach_ms is %d; your answers that may outlive their connections, or those of all clients, take too much memory: "+
			"try again when some have ended, or without detach_ms", l.stay.Milliseconds())}
}

// grow counts n bytes more for a log; false if that is too much. To make room, logs that have ended
// and that nobody reads are forgotten: those of the same caller, or if all together have too much,
// those of the caller that has most.
func (s *Shelf) grow(l *Log, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.gone {
		return false // nothing is forgotten for it
	}
	own := s.account(l)
	defer s.count(l, 0)
	for own.bytes+n > cmp.Or(s.mostOfCaller, mostOfCaller) {
		if !s.forgetOldest(own) {
			return false
		}
	}
	for s.total+n > cmp.Or(s.mostOfAll, mostOfAll) {
		if !s.forgetOldest(s.heaviestAccount()) {
			return false
		}
	}
	s.count(l, n)
	return true
}

// account returns the account of a log's caller. s.mu is held.
func (s *Shelf) account(l *Log) *account {
	if s.accounts == nil {
		s.accounts, s.byStream = map[string]*account{}, map[string]*Log{}
	}
	if s.accounts[l.caller.ID] == nil {
		s.accounts[l.caller.ID] = &account{}
	}
	return s.accounts[l.caller.ID]
}

// count changes what a log counts, and drops an account that has nothing. s.mu is held.
func (s *Shelf) count(l *Log, n int64) {
	own := s.account(l)
	l.bytes, own.bytes, s.total = l.bytes+n, own.bytes+n, s.total+n
	if own.bytes == 0 {
		delete(s.accounts, l.caller.ID)
	}
}

// forgetOldest removes the log of an account that was left first; false if there is none. s.mu is
// held.
func (s *Shelf) forgetOldest(of *account) bool {
	if len(of.left) == 0 {
		return false
	}
	s.drop(of.left[0])
	return true
}

// heaviestAccount finds the account that has most. s.mu is held.
func (s *Shelf) heaviestAccount() *account {
	most := &account{}
	for _, a := range s.accounts {
		if a.bytes > most.bytes {
			most = a
		}
	}
	return most
}

// put lets clients find a log.
func (s *Shelf) put(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byStream[l.name] = l
}

// log returns the log of a stream of this server; nil: clients find none.
func (s *Shelf) log(stream string) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byStream[stream]
}

// absentStream is why a server does not know a stream of its own.
const absentStream = "no such stream: it was not started with detach_ms, its time is up, or the server was started again"

func unknownStream(why string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "unknown_stream", Field: "stream", Message: why}
}

// nameOf is the name of a stream for clients. What is before its last dot says which of several
// servers has the stream, so that a proxy can lead a client back to it.
func (s *Shelf) nameOf(stream string) string {
	if s.Replica == "" {
		return stream
	}
	return s.Replica + "." + stream
}

// find is the log of the stream that a client names. A client that has learnt the name of another's
// stream is told what a stranger is.
func (s *Shelf) find(name string, caller completion.Caller) (*Log, error) {
	dot := strings.LastIndexByte(name, '.')
	replica, id := name[:max(dot, 0)], name[dot+1:]
	if dot > 0 && replica != s.Replica {
		return nil, unknownStream(fmt.Sprintf("the stream is that of the server %q, and this is %q: connect to /v1/ws?replica=%s; "+
			"a proxy that leads elsewhere even so finds that server gone, and the stream with it", excerpt.Of(replica, 64), s.Replica, excerpt.Of(replica, 64)))
	}
	if l := s.log(id); l != nil && caller.Owns(l.caller) {
		return l, nil
	}
	return nil, unknownStream(absentStream)
}

// startStay begins the time that a log stays without a reader.
func (s *Shelf) startStay(l *Log, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.expiry = time.AfterFunc(l.stay, func() {
		s.remove(l)
		l.cancel()
	})
	if ended {
		own := s.account(l)
		own.left = append(own.left, l)
	}
}

// noteEnd notes that a log has all frames: it counts less from then on.
func (s *Shelf) noteEnd(l *Log, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.gone || l.stay == 0 {
		return
	}
	s.count(l, endedBytes-l.reserved)
	if away {
		own := s.account(l)
		own.left = append(own.left, l)
	}
}

// take has a log read again; false if its time is up.
func (s *Shelf) take(l *Log) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.gone || !l.expiry.Stop() {
		return false
	}
	s.unlist(l)
	return true
}

// remove has a log found no more.
func (s *Shelf) remove(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(l)
}

// drop is remove. s.mu is held.
func (s *Shelf) drop(l *Log) {
	if l.gone {
		return
	}
	l.gone = true
	if l.expiry != nil {
		l.expiry.Stop()
	}
	s.unlist(l)
	delete(s.byStream, l.name)
	s.count(l, -l.bytes)
	s.letGo(l)
}

// unlist has a log not be forgotten for another. s.mu is held.
func (s *Shelf) unlist(l *Log) {
	own := s.account(l)
	own.left = slices.DeleteFunc(own.left, func(other *Log) bool { return other == l })
}

// hold has the host's end wait for a log's client, who knows the stream's name and may come back by
// it.
func (s *Shelf) hold(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.held && !l.gone {
		l.held, l.release = true, s.Hold()
	}
}

// settle lets the host end: the client has all of the answer.
func (s *Shelf) settle(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letGo(l)
}

// letGo is settle. s.mu is held.
func (s *Shelf) letGo(l *Log) {
	if l.held {
		l.held = false
		l.release()
	}
}
