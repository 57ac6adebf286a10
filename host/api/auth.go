// SPDX-License-Identifier: MIT

package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// Subprotocols of the WebSocket. A browser cannot send an Authorization header with it, so it may offer its key, in
// unpadded base64url, as a second subprotocol.
const (
	Subprotocol       = "penstock.v1"
	SubprotocolBearer = "penstock.bearer."
)

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
			return &Error{Status: http.StatusUnauthorized, Code: "invalid_api_key", Type: TypeAuth,
				Message: "this server needs a key; send it as Authorization: Bearer KEY"}
		}
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

// caller is who sends a request, as far as it matters to the answer.
type caller struct {
	id               string // tells clients apart: by their keys if there are any, else by their addresses
	cacheSalt        string // of the prompt cache; "" where all share it
	mayRaisePriority bool   // the key is one of those that may ask for more than the ordinary priority
}

func (s *service) callerOf(c echo.Context) caller {
	out := caller{id: "address " + c.RealIP(), mayRaisePriority: hasKey(c.Request(), s.priorityKeys)}
	if len(s.keys) == 0 {
		return out
	}
	digest := sha256.Sum256([]byte(bearer(c.Request())))
	out.id = "key " + string(digest[:])
	if !s.ShareCache { // how many tokens were cached, and how soon the first one comes, then tell nobody what others have sent
		out.cacheSalt = string(digest[:])
	}
	return out
}

// checkPriority refuses a priority that the caller may not ask for.
func (c caller) checkPriority(priority int) error {
	if priority <= 0 || c.mayRaisePriority {
		return nil
	}
	return &Error{Status: http.StatusForbidden, Code: "priority_not_allowed", Type: TypeForbid, Param: "priority",
		Message: fmt.Sprintf("priority is %d; it may be at most 0 but for the keys that server.priority_keys lists", priority)}
}

func bearer(r *http.Request) string {
	scheme, key, ok := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
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
