// SPDX-License-Identifier: MIT

package artifact

import (
	"cmp"
	"net"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Client talks to registries.
type Client struct {
	PlainHTTP bool   // do without encryption, as is always done on this machine itself
	MaxBytes  int64  // of a module
	UserAgent string // what it calls itself

	HTTP *http.Client // what it sends requests with; nil: one that tries again what may go well
}

// defaultTag is the one of a reference without tag and digest.
const defaultTag = "latest"

// Reference is where an artifact is: REGISTRY/REPOSITORY, and then :TAG or @sha256:DIGEST.
type Reference struct{ registry.Reference }

// ParseReference reads a Reference. Without a tag and a digest it has the tag latest. The error
// wraps ErrReference.
func ParseReference(text string) (Reference, error) {
	r, err := registry.ParseReference(strings.TrimPrefix(text, "oci://"))
	if err != nil {
		return Reference{}, badReference(text, err)
	}
	if r.Reference == "" {
		r.Reference = defaultTag
	}
	return Reference{r}, nil
}

// At is where the artifact with a digest is, whatever its tag names later.
func (r Reference) At(digest string) string { return r.Registry + "/" + r.Repository + "@" + digest }

// repository is the one that a reference names.
func (c *Client) repository(r Reference) (*remote.Repository, error) {
	repository, err := remote.NewRepository(r.Registry + "/" + r.Repository)
	if err != nil {
		return nil, err
	}
	repository.PlainHTTP = c.PlainHTTP || IsThisMachine(r.Host())
	client := &auth.Client{Client: cmp.Or(c.HTTP, retry.DefaultClient), Header: http.Header{"User-Agent": {c.UserAgent}}, Cache: auth.NewCache()}
	if store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{}); err == nil { // else there are no credentials
		client.Credential = credentials.Credential(store)
	}
	repository.Client = client
	return repository, nil
}

// IsThisMachine reports whether a host, with or without a port, is the one that this runs on, to
// which nobody can listen.
func IsThisMachine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
