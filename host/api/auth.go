// SPDX-License-Identifier: MIT

package api

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
)

// SubprotocolBearer begins the WebSocket subprotocol that carries a key, in unpadded base64url: a
// browser cannot send an Authorization header with a WebSocket.
const SubprotocolBearer = "penstock.bearer."

// authorize lets requests pass that have one of the keys, and that are within their client's
// limits. Without keys all pass.
func (s *service) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.identify(c, secretOf(c.Request())); err != nil {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
			return err
		}
		if m := c.Request().Method; m != http.MethodGet && m != http.MethodHead {
			if err := operation.From(c.Request().Context()).Admit(); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// authorizeSocket is authorize, but a WebSocket that comes without a key passes without a caller:
// it asks for the key in its first frame.
func (s *service) authorizeSocket(next echo.HandlerFunc) echo.HandlerFunc {
	authorized := s.authorize(next)
	return func(c echo.Context) error {
		if s.Keys().Closed() && c.IsWebSocket() && secretOf(c.Request()) == "" {
			return next(c)
		}
		return authorized(c)
	}
}

// identifySocket is identify, for a key that a WebSocket's first frame had; empty: that of the
// request.
func (s *service) identifySocket(c echo.Context, secret string) error {
	if secret == "" {
		secret = secretOf(c.Request())
	}
	return s.identify(c, secret)
}

// identify notes whom a key belongs to, unless the server asks for another.
func (s *service) identify(c echo.Context, secret string) error {
	keys := s.Keys()
	key, known := keys.Find(secret)
	if keys.Closed() && !(known && key.Client) {
		return &refusal.Error{Kind: refusal.KindUnauthenticated, Code: "invalid_api_key",
			Message: "this server needs a key; send it as Authorization: Bearer KEY or as X-Api-Key: KEY"}
	}
	caller := completion.Caller{ID: addressOf(c), Key: key.Name, Route: c.Path(), MayRaisePriority: key.Priority, Administers: key.Admin || !isGuarded(keys)}
	if keys.Closed() {
		caller.ID, caller.Keyed = "key "+key.Digest, true
		if !s.ShareCache { // how many tokens were cached, and how soon the first one comes, then tell nobody what others have sent
			caller.CacheSalt = key.Digest
		}
	}
	if s.Scripts.May(key) {
		id := caller.ID
		caller.TakeScript = func(source, field string) error { return s.takeScript(id, source, field) }
	}
	caller.MayBringModules = s.Modules != nil && s.Uploads.May(key)
	wire.SetCaller(c, caller)
	operation.From(c.Request().Context()).SetClient(key.Name, s.quota(c, key, caller.ID))
	return nil
}

// takeScript counts a script of a client.
func (s *service) takeScript(client, source, field string) error {
	wait := s.Scripts.TakeNew(client, source)
	if wait == 0 {
		return nil
	}
	seconds := wholeSeconds(wait)
	return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_scripts", Field: field, Retry: seconds,
		Message: fmt.Sprintf("%s is new, and you have sent %d new scripts within a minute; those that were sent before go on. Give what differs as the script's config, or try again in %d s",
			field, access.NewScripts, seconds)}
}

// callerID tells callers apart, also those of routes that ask for no key of a client.
func callerID(c echo.Context) string {
	if wire.HasCaller(c) {
		return wire.CallerOf(c).ID
	}
	return addressOf(c)
}

func addressOf(c echo.Context) string { return "address " + access.Address(c.RealIP()) }

// administer lets requests pass that have the admin key. If none is configured, none pass.
func (s *service) administer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		keys := s.Keys()
		if !keys.HasAdmin() {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "admin_disabled",
				Message: "this needs an admin key, and the server has none; its operator can set server.admin_key"}
		}
		key, _ := keys.Find(secretOf(c.Request()))
		if !key.Admin {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
			return &refusal.Error{Kind: refusal.KindUnauthenticated, Code: "invalid_admin_key",
				Message: "this needs the server's admin key; send it as Authorization: Bearer KEY"}
		}
		operation.From(c.Request().Context()).SetClient(key.Name, operation.Unlimited{})
		return next(c)
	}
}

// authorizeAny is authorize, for a route that also takes the admin key, which may be no client's.
func (s *service) authorizeAny(next echo.HandlerFunc) echo.HandlerFunc {
	authorized, administered := s.authorize(next), s.administer(next)
	return func(c echo.Context) error {
		if key, _ := s.Keys().Find(secretOf(c.Request())); key.Admin {
			return administered(c)
		}
		return authorized(c)
	}
}

// administerShared is administer for what llama-server's and Ollama's clients expect to be
// allowed: it is for all where nobody has a key.
func (s *service) administerShared(next echo.HandlerFunc) echo.HandlerFunc {
	open, administered := s.authorize(next), s.administer(next)
	return func(c echo.Context) error {
		if isGuarded(s.Keys()) {
			return administered(c)
		}
		return open(c)
	}
}

// isGuarded reports whether any key tells the admin from others.
func isGuarded(keys access.Keys) bool { return keys.Closed() || keys.HasAdmin() }

// quota is what a client may use. The admin key has no limits.
func (s *service) quota(c echo.Context, key access.Key, id string) operation.Quota {
	if s.Limiter == nil || key.Admin {
		return operation.Unlimited{}
	}
	return quota{s.Limiter, id, c.Response().Header()}
}

// quota is what a client may use, by its limiter. It tells the client what is left in headers.
type quota struct {
	*access.Limiter
	client  string
	headers http.Header // of the request's answer
}

// Admit implements operation.Quota.
func (q quota) Admit() error { return admit(q.Take, q.client, q.headers) }

// Steer implements operation.Quota.
func (q quota) Steer() error { return admit(q.TakeShare, q.client, http.Header{}) }

// Charge implements operation.Quota.
func (q quota) Charge(tokens int) { q.Limiter.Charge(q.client, tokens) }

// admit counts a request, or a share of one, and tells the client, in OpenAI's headers, what it
// has left.
func admit(take func(client string) (access.Standing, bool), id string, h http.Header) error {
	standing, ok := take(id)
	setQuota(h, "requests", standing.Requests)
	setQuota(h, "tokens", standing.Tokens)
	if ok {
		return nil
	}
	what := "requests"
	used := standing.Requests
	if standing.Tokens.Wait > standing.Requests.Wait {
		what, used = "tokens", standing.Tokens
	}
	seconds := wholeSeconds(standing.Wait())
	return &refusal.Error{Kind: refusal.KindBusy, Code: "rate_limit_exceeded", Retry: seconds,
		Message: fmt.Sprintf("you have used up your %d %s a minute; try again in %d s", used.Limit, what, seconds)}
}

// wholeSeconds is a wait as clients are told it, not less.
func wholeSeconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

func setQuota(h http.Header, what string, q access.Quota) {
	if q.Limit == 0 {
		return
	}
	h.Set("X-Ratelimit-Limit-"+what, strconv.Itoa(q.Limit))
	h.Set("X-Ratelimit-Remaining-"+what, strconv.Itoa(q.Remaining))
	h.Set("X-Ratelimit-Reset-"+what, q.Reset.Round(time.Millisecond).String())
}

// secretOf is the key that a request has: as OpenAI's clients send it, without the word Bearer, as
// llama-server takes it too, as Anthropic's clients send it, or as a browser can with a WebSocket.
func secretOf(r *http.Request) string {
	if text := strings.TrimSpace(r.Header.Get(echo.HeaderAuthorization)); text != "" {
		if scheme, key, ok := strings.Cut(text, " "); ok && strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(key)
		}
		return text
	}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for offer := range strings.SplitSeq(line, ",") {
			coded, ok := strings.CutPrefix(strings.TrimSpace(offer), SubprotocolBearer)
			if key, err := base64.RawURLEncoding.DecodeString(coded); ok && err == nil {
				return string(key)
			}
		}
	}
	return ""
}

// sameOrigin refuses pages of other origins unless they are configured, and tells browsers about
// those that are. Without it any page on the web could use a host on the visitor's machine: a POST
// with a simple content type needs no preflight. Clients that are no browsers send no Origin.
func (s *service) sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")     // what a model or a file says is not to be run as a script
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // a GET without an Origin, as for an image, is not shown to its page
		origin := r.Header.Get(echo.HeaderOrigin)
		if origin == "" && s.isFromElsewhere(c) {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "cross_site_not_allowed",
				Message: "a page of another site had its browser ask for this; open the address itself, or have the page's script ask from an origin that --cors-origins names"}
		}
		if origin == "" || isHost(origin, r.Host) {
			return next(c)
		}
		h.Add(echo.HeaderVary, echo.HeaderOrigin)
		if !s.allowsOrigin(origin) {
			return &refusal.Error{Kind: refusal.KindForbidden, Code: "origin_not_allowed",
				Message: "pages of " + origin + " may not call this server; --cors-origins " + origin + " would allow it"}
		}
		h.Set(echo.HeaderAccessControlAllowOrigin, origin)
		h.Set(echo.HeaderAccessControlExposeHeaders, exposedHeaders)
		if slices.Contains(s.Origins, origin) { // by name: what a proxy in front of this server knows its users by may be sent along
			h.Set(echo.HeaderAccessControlAllowCredentials, "true")
		}
		if r.Method != http.MethodOptions {
			return next(c)
		}
		h.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
		h.Set(echo.HeaderAccessControlAllowHeaders, r.Header.Get(echo.HeaderAccessControlRequestHeaders))
		h.Set(echo.HeaderAccessControlMaxAge, "600")
		return c.NoContent(http.StatusNoContent)
	}
}

// isFromElsewhere reports whether a page of another origin has its browser send a request without
// an Origin, as for an image, a script or a form that gets. It cannot read the answer, but work
// would be done for it. A link that leads to the page of this server is followed.
func (s *service) isFromElsewhere(c echo.Context) bool {
	r := c.Request()
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "cross-site" && site != "same-site" || slices.Contains(s.Origins, "*") {
		return false
	}
	opensPage := c.Path() == pageRoute && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	return !opensPage
}

func isHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// exposedHeaders are those that scripts of other origins may read.
const exposedHeaders = "X-Request-Id, Retry-After, X-Should-Retry, X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, " +
	"X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens, Penstock-Schema-Relaxed"

func (s *service) allowsOrigin(origin string) bool {
	if slices.Contains(s.Origins, "*") || slices.Contains(s.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && slices.Contains(s.Origins, "localhost") && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}
