// SPDX-License-Identifier: MIT

package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// SubprotocolBearer begins the WebSocket subprotocol that carries a key, in unpadded base64url: a browser cannot send an Authorization
// header with a WebSocket.
const SubprotocolBearer = "penstock.bearer."

// digests are compared in place of the keys: they do not show how long a key is.
func digests(keys ...string) [][32]byte {
	var out [][32]byte
	for _, k := range keys {
		if k != "" {
			out = append(out, sha256.Sum256([]byte(k)))
		}
	}
	return out
}

// authorize lets requests pass that have one of the keys. Without keys all pass.
func (s *service) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(s.keys) > 0 && !hasKey(c.Request(), s.keys) {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
			return &completion.Error{Status: http.StatusUnauthorized, Code: "invalid_api_key", Type: completion.TypeAuth,
				Message: "this server needs a key; send it as Authorization: Bearer KEY or as X-Api-Key: KEY"}
		}
		wire.SetCaller(c, s.callerOf(c))
		return next(c)
	}
}

// hasKey compares in constant time with every key.
func hasKey(r *http.Request, keys [][32]byte) bool {
	digest := sha256.Sum256([]byte(bearer(r)))
	found := 0
	for _, k := range keys {
		found |= subtle.ConstantTimeCompare(k[:], digest[:])
	}
	return found == 1
}

// callerOf is who sends a request.
func (s *service) callerOf(c echo.Context) completion.Caller {
	out := completion.Caller{ID: "address " + c.RealIP(), MayRaisePriority: hasKey(c.Request(), s.priorityKeys)}
	if len(s.keys) == 0 {
		return out
	}
	digest := sha256.Sum256([]byte(bearer(c.Request())))
	out.ID = "key " + string(digest[:])
	if !s.ShareCache { // how many tokens were cached, and how soon the first one comes, then tell nobody what others have sent
		out.CacheSalt = string(digest[:])
	}
	return out
}

func bearer(r *http.Request) string {
	scheme, key, ok := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if key := r.Header.Get("X-Api-Key"); key != "" { // from Anthropic's clients, and taken by llama-server too
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
