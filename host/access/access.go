// SPDX-License-Identifier: MIT

// Package access knows the API keys, and how much each client may use.
//
// # Why not echo's rate limiter?
//
// It decides with a store that sees only the client's name, and tells the client nothing. Limits
// on tokens are known at the end of a request, answers over a WebSocket count too, and clients
// expect OpenAI's headers. host/access therefore uses the token buckets beneath echo's limiter
// (golang.org/x/time/rate) itself.
package access

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// Key is what is known of a key that a client has sent. The key itself is not kept.
type Key struct {
	Name     string // for logs, metrics and limits; it tells nothing of the key
	Digest   string // SHA-256 of the key
	Client   bool   // it opens the ordinary routes
	Admin    bool   // it opens all routes
	Priority bool   // its requests may ask for a priority above 0
	Scripts  bool   // its requests may bring scripts, where only listed keys' may
	Modules  bool   // it may bring modules, where only listed keys may
}

// Keys is a set of keys. It is a value that does not change.
type Keys struct {
	keys   []Key
	closed bool
}

// Secret is a key as it is configured.
type Secret struct {
	Name string // empty: "key-N", for the Nth of its source
	Key  string
}

// Listed are the keys that may do more than others.
type Listed struct {
	Priority []string // raise priorities
	Scripts  []string // bring scripts
	Modules  []string // bring modules
}

// NewKeys makes the set of the keys that clients use, the admin key ("": none), and those that may
// do more. Where no clients' keys are asked for, the latter need not be among them.
func NewKeys(clients []Secret, admin string, may Listed) Keys {
	k := Keys{closed: len(clients) > 0}
	for i, s := range clients {
		if s.Name == "" {
			s.Name = fmt.Sprintf("key-%d", i+1)
		}
		k.add(s.Key, func(key *Key) { key.Name, key.Client = s.Name, true })
	}
	if admin != "" {
		k.add(admin, func(key *Key) { key.Name, key.Admin, key.Client = "admin", true, true })
	}
	for _, more := range []struct {
		name string
		keys []string
		let  func(*Key)
	}{
		{"priority", may.Priority, func(key *Key) { key.Priority = true }},
		{"script", may.Scripts, func(key *Key) { key.Scripts = true }},
		{"module", may.Modules, func(key *Key) { key.Modules = true }},
	} {
		for i, secret := range more.keys {
			k.add(secret, func(key *Key) {
				if more.let(key); key.Name == "" {
					key.Name = fmt.Sprintf("%s-%d", more.name, i+1)
				}
			})
		}
	}
	return k
}

// add changes the entry of a key, which is made if there is none.
func (k *Keys) add(secret string, change func(*Key)) {
	digest := digestOf(secret)
	i := slices.IndexFunc(k.keys, func(key Key) bool { return key.Digest == digest })
	if i < 0 {
		i = len(k.keys)
		k.keys = append(k.keys, Key{Digest: digest})
	}
	change(&k.keys[i])
}

// Find returns what is known of a key. It compares digests, and with all of them, so that how long
// it takes tells nothing of the keys, not even how long they are.
func (k Keys) Find(secret string) (found Key, ok bool) {
	digest := digestOf(secret)
	for _, key := range k.keys {
		if subtle.ConstantTimeCompare([]byte(key.Digest), []byte(digest)) == 1 {
			found, ok = key, true
		}
	}
	return found, ok
}

// Names reports whether a key has the name.
func (k Keys) Names(name string) bool {
	return slices.ContainsFunc(k.keys, func(key Key) bool { return key.Name == name })
}

// Closed reports whether the ordinary routes ask for a key. An admin key alone closes only the
// admin routes.
func (k Keys) Closed() bool { return k.closed }

// HasAdmin reports whether there is an admin key.
func (k Keys) HasAdmin() bool {
	return slices.ContainsFunc(k.keys, func(key Key) bool { return key.Admin })
}

func digestOf(secret string) string {
	d := sha256.Sum256([]byte(secret))
	return string(d[:])
}

// ReadKeyFile reads a file of keys, one a line; a name may follow a key after white space. Lines
// that begin with # are comments. A file without keys is an error: the server would be open to
// all.
func ReadKeyFile(path string) ([]Secret, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("read API keys: %s is no text in UTF-8; save it as UTF-8", path)
	}
	var secrets []Secret
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(strings.TrimPrefix(line, "\ufeff")) // some editors begin files with this mark
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) > 2 {
			return nil, fmt.Errorf("read API keys: line %d of %s has %d words; it may have a key and a name", number, path, len(fields))
		}
		s := Secret{Key: fields[0]}
		if len(fields) == 2 {
			s.Name = fields[1]
		}
		if slices.ContainsFunc(secrets, func(other Secret) bool { return s.Name != "" && other.Name == s.Name || other.Key == s.Key }) {
			return nil, fmt.Errorf("read API keys: line %d of %s has a key or a name that another line has", number, path)
		}
		secrets = append(secrets, s)
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("read API keys: %s has none", path)
	}
	return secrets, nil
}

// Limits are what one client may use in a minute; 0: any number.
type Limits struct {
	Requests int
	Tokens   int // of prompts and answers
}

// Limiter counts what clients use. A client has a bucket of requests and one of tokens. They hold
// a minute's worth, fill up steadily, and may be used up at once.
type Limiter struct {
	limits Limits

	mu      sync.Mutex
	clients map[string]*buckets
}

type buckets struct{ requests, tokens bucket }

// bucket is a token bucket. It holds units, each of which is divided into shares.
type bucket struct {
	rate   *rate.Limiter // of shares; nil: any number
	shares int
}

// Shares is how many shares a request has, of which what costs little counts one.
const Shares = 16

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

// Take counts a request of a client, or refuses it: then Wait of the standing is not 0. A request
// needs one token only: how many it takes is known at its end, when Charge counts them. Until then
// a client that has used too many waits.
func (l *Limiter) Take(client string) (_ Standing, ok bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucketsOf(client, now)
	return b.take(Shares, Standing{b.requests.quota(Shares, now), b.tokens.quota(1, now)}, now)
}

// TakeShare counts one of the Shares of a request, for what is done to an answer that goes on. It
// waits for no tokens: those of the answer count at its end.
func (l *Limiter) TakeShare(client string) (_ Standing, ok bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucketsOf(client, now)
	return b.take(1, Standing{Requests: b.requests.quota(1, now)}, now)
}

// take counts shares of a request, where the standing lets it.
func (b *buckets) take(shares int, s Standing, now time.Time) (_ Standing, ok bool) {
	if s.Wait() > 0 {
		return s, false
	}
	if b.requests.rate != nil {
		b.requests.rate.AllowN(now, shares)
		s.Requests = b.requests.quota(shares, now)
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
	b := l.bucketsOf(client, now)
	for tokens > 0 { // a reservation may not be larger than the bucket, but the bucket may owe more
		n := min(tokens, l.limits.Tokens)
		b.tokens.rate.ReserveN(now, n)
		tokens -= n
	}
}

func (l *Limiter) bucketsOf(client string, now time.Time) *buckets {
	b := l.clients[client]
	if b == nil {
		if len(l.clients) >= maxClients {
			l.forget(now)
		}
		b = &buckets{newBucket(l.limits.Requests, Shares), newBucket(l.limits.Tokens, 1)}
		l.clients[client] = b
	}
	return b
}

// forget makes room: clients with full buckets lose nothing by it. If they are too few, any others
// go, which then may use their minute anew.
func (l *Limiter) forget(now time.Time) {
	for client, b := range l.clients {
		if b.requests.isFull(now) && b.tokens.isFull(now) {
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

func newBucket(perMinute, shares int) bucket {
	if perMinute == 0 {
		return bucket{}
	}
	return bucket{rate.NewLimiter(rate.Limit(perMinute*shares)/60, perMinute*shares), shares}
}

func (b bucket) isFull(now time.Time) bool {
	return b.rate == nil || b.rate.TokensAt(now) >= float64(b.rate.Burst())
}

// quota tells what is left of the bucket for a client that wants a number of shares.
func (b bucket) quota(wanted int, now time.Time) Quota {
	if b.rate == nil {
		return Quota{}
	}
	left := b.rate.TokensAt(now)
	until := func(level int) time.Duration {
		return time.Duration(max(0, float64(level)-left) / float64(b.rate.Limit()) * float64(time.Second))
	}
	return Quota{Limit: b.rate.Burst() / b.shares, Remaining: int(math.Max(0, math.Floor(left/float64(b.shares)))), Reset: until(b.rate.Burst()), Wait: until(wanted)}
}

// Address names a client without a key by its address. In IPv6 that is the network of 64 bits that
// one customer has, since within it addresses cost nothing.
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

// What a client may send in a minute: scripts that it has not sent before, and modules.
const (
	NewScripts = 60
	NewModules = 10
)

// maxSeen bounds the scripts that are known, of all clients together: a digest each. One that is
// forgotten counts as new.
const maxSeen = 1 << 16

// Code says who may bring code of a kind, and counts what is new: each has to be compiled. It is
// safe for concurrent use; a nil one lets nobody.
type Code struct {
	listed  func(Key) bool // nil: all may
	limiter *Limiter

	mu    sync.Mutex
	seen  map[[sha256.Size]byte]*list.Element // of a client with a script
	order list.List                           // of their keys, the last used first
}

// NewScriptAccess lets all clients bring scripts, or only those whose keys are listed for it.
func NewScriptAccess(listed bool) *Code {
	return newCode(NewScripts, listed, func(k Key) bool { return k.Scripts })
}

// NewModuleAccess lets all clients bring modules, or only those whose keys are listed for it.
func NewModuleAccess(listed bool) *Code {
	return newCode(NewModules, listed, func(k Key) bool { return k.Modules })
}

func newCode(perMinute int, listed bool, isListed func(Key) bool) *Code {
	c := &Code{limiter: NewLimiter(Limits{Requests: perMinute}), seen: map[[sha256.Size]byte]*list.Element{}}
	if listed {
		c.listed = isListed
	}
	return c
}

// May reports whether a client may bring code.
func (c *Code) May(k Key) bool { return c != nil && (c.listed == nil || c.listed(k)) }

// Take counts a piece of code of a client. It returns how long the client must wait to send it; 0:
// it need not.
func (c *Code) Take(client string) time.Duration {
	if standing, ok := c.limiter.Take(client); !ok {
		return standing.Wait()
	}
	return 0
}

// TakeNew is Take for what costs nothing if the client has sent it before.
func (c *Code) TakeNew(client, source string) time.Duration {
	digest := sha256.Sum256([]byte(client + "\x00" + source))
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.seen[digest]; e != nil {
		c.order.MoveToFront(e)
		return 0
	}
	if wait := c.Take(client); wait > 0 {
		return wait
	}
	if len(c.seen) >= maxSeen {
		last := c.order.Back()
		delete(c.seen, c.order.Remove(last).([sha256.Size]byte))
	}
	c.seen[digest] = c.order.PushFront(digest)
	return 0
}
