// SPDX-License-Identifier: MIT

package access

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are what one client may use in a minute; 0: any number.
type Limits struct {
	Requests int
	Tokens   int // of prompts and answers
}

// Limiter counts what clients use. A client has a bucket of requests and one of tokens. They hold a minute's worth, fill up steadily,
// and may be used up at once.
type Limiter struct {
	limits Limits

	mu      sync.Mutex
	clients map[string]*buckets
}

type buckets struct{ requests, tokens *rate.Limiter } // nil: any number

// maxClients bounds the clients whose use is known. Of more, some are forgotten, full ones first.
const maxClients = 1 << 16

// NewLimiter makes a limiter, which may be used from any goroutine. It is nil without limits.
func NewLimiter(l Limits) *Limiter {
	if l == (Limits{}) {
		return nil
	}
	return &Limiter{limits: l, clients: map[string]*buckets{}}
}

// Quota is how much of a limit a client has left.
type Quota struct {
	Limit     int           // a minute; 0: there is no limit, and the rest is 0
	Remaining int           // at this moment
	Reset     time.Duration // until all of Limit is there
	Wait      time.Duration // until the next may be used
}

// Standing is what a client has left.
type Standing struct{ Requests, Tokens Quota }

// Wait is how long the client must wait for its next request.
func (s Standing) Wait() time.Duration { return max(s.Requests.Wait, s.Tokens.Wait) }

// Take counts a request of a client, or refuses it: then Wait of the standing is not 0. A request needs one token only: how many it
// takes is known at its end, when Charge counts them. Until then a client that has used too many waits.
func (l *Limiter) Take(client string) (_ Standing, ok bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.of(client, now)
	s := Standing{quota(b.requests, now), quota(b.tokens, now)}
	if s.Wait() > 0 {
		return s, false
	}
	if b.requests != nil {
		b.requests.AllowN(now, 1)
		s.Requests = quota(b.requests, now)
		s.Requests.Wait = 0
	}
	return s, true
}

// Charge counts tokens that a client has used.
func (l *Limiter) Charge(client string, tokens int) {
	if l.limits.Tokens == 0 {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.of(client, now)
	for tokens > 0 { // a reservation may not be larger than the bucket, but the bucket may owe more
		n := min(tokens, l.limits.Tokens)
		b.tokens.ReserveN(now, n)
		tokens -= n
	}
}

func (l *Limiter) of(client string, now time.Time) *buckets {
	b := l.clients[client]
	if b == nil {
		if len(l.clients) >= maxClients {
			l.forget(now)
		}
		b = &buckets{bucket(l.limits.Requests), bucket(l.limits.Tokens)}
		l.clients[client] = b
	}
	return b
}

// forget makes room: clients with full buckets lose nothing by it. If they are too few, any others go, which then may use their
// minute anew.
func (l *Limiter) forget(now time.Time) {
	for client, b := range l.clients {
		if isFull(b.requests, now) && isFull(b.tokens, now) {
			delete(l.clients, client)
		}
	}
	for client := range l.clients {
		if len(l.clients) <= maxClients*3/4 { // so that this work is rare
			return
		}
		delete(l.clients, client)
	}
}

func bucket(perMinute int) *rate.Limiter {
	if perMinute == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
}

func isFull(b *rate.Limiter, now time.Time) bool {
	return b == nil || b.TokensAt(now) >= float64(b.Burst())
}

func quota(b *rate.Limiter, now time.Time) Quota {
	if b == nil {
		return Quota{}
	}
	left := b.TokensAt(now)
	until := func(level float64) time.Duration {
		return time.Duration(max(0, level-left) / float64(b.Limit()) * float64(time.Second))
	}
	return Quota{Limit: b.Burst(), Remaining: int(math.Max(0, math.Floor(left))), Reset: until(float64(b.Burst())), Wait: until(1)}
}

// Address names a client without a key by its address. In IPv6 that is the network of 64 bits that one customer has, since within
// it addresses cost nothing.
func Address(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	if address = address.Unmap().WithZone(""); address.Is6() {
		network, _ := address.Prefix(64) // 64 bits fit
		return network.String()
	}
	return address.String()
}
