// SPDX-License-Identifier: MIT

// Package hub downloads models from a hub or from a URL. A download that was cut goes on where it
// ended, and only files whose SHA-256 and header are right get their names.
//
// Begin to read with pull.go.
//
// # Why is the note of a model's source written before the model gets its name?
//
// A pull that is killed while it renames a model's files finds some of them done. If the server
// names no hash, only the note tells the next pull whose they are. For the same reason the note
// of an unfinished download is removed before its bytes are.
package hub

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultEndpoint is the hub unless a mirror is configured.
const DefaultEndpoint = "https://huggingface.co"

// Client speaks to one hub, and to servers of files. Zero values take the defaults named.
type Client struct {
	Endpoint    string            // of the hub or a mirror, with the same routes; "": DefaultEndpoint
	Token       string            // is sent to the endpoint's host and to no other
	Agent       string            // User-Agent
	Transport   http.RoundTripper // nil: one of its own
	Connections int               // at once; 0: 4
	Attempts    int               // that may fail in a row; 0: 6
	Delay       time.Duration     // after the first failure, doubled with each further; 0: 1 s
	Stall       time.Duration     // a connection that brings nothing for so long is cut; 0: 30 s
	Notify      func(Event)       // is told what happens, one event after the other; nil: nobody

	leastPiece int64 // bytes of a file that one connection brings; 0: 32 MiB; tests set less
}

const (
	mostDelay = time.Minute
	redirects = 10
)

func (c Client) withDefaults() Client {
	c.Endpoint = strings.TrimSuffix(cmp.Or(c.Endpoint, DefaultEndpoint), "/")
	c.Agent = cmp.Or(c.Agent, "penstock")
	c.Connections = cmp.Or(c.Connections, 4)
	c.Attempts = cmp.Or(c.Attempts, 6)
	c.Delay = cmp.Or(c.Delay, time.Second)
	c.Stall = cmp.Or(c.Stall, 30*time.Second)
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // ranges are of the file's own bytes
		t.ResponseHeaderTimeout = c.Stall
		t.MaxIdleConnsPerHost = c.Connections
		c.Transport = t
	}
	c.leastPiece = cmp.Or(c.leastPiece, 32<<20)
	if c.Notify == nil {
		c.Notify = func(Event) {}
	}
	return c
}

// trusts reports whether the token may be sent to a URL.
func (c Client) trusts(u *url.URL) bool {
	endpoint, err := url.Parse(c.Endpoint)
	return err == nil && u.Scheme == endpoint.Scheme && u.Host == endpoint.Host
}

// close ends connections that are idle.
func (c Client) close() {
	if t, ok := c.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
