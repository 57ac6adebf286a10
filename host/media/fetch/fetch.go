// SPDX-License-Identifier: MIT

// Package fetch gets files by URLs that clients name, so that no client reaches through the server
// what it could not reach itself.
//
// # Notes
//
//   - A host's addresses are looked up, those that are not public are left out, and the connection
//     goes to one that was looked at. So a name that means another address a moment later gains
//     nothing. Each redirect is looked at like the first URL.
//   - The timeout is for all of it, from the lookup to the last byte. Nothing is unpacked on the
//     way.
//   - No proxy, no cookie, no key and no setting of the environment counts.
//
// # Errors
//
// They say what is wrong with a URL and what to do, in words that follow its field: "names a host
// that …".
//
// # Why is a URL's host looked up by us, and not by the HTTP client?
//
// A check of the name before, and a lookup of the client's own after, may see two different
// addresses; that is how a name of the web gets at a machine's own network. The address that is
// checked is the one that is dialled, for each redirect anew.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/penstock/penstock/host/excerpt"
)

const (
	maxRedirects = 3
	maxURL       = 4096     // bytes
	maxHeader    = 64 << 10 // bytes, of an answer
)

// Options say what may be fetched.
type Options struct {
	HTTP     bool           // http: URLs too; otherwise https: alone
	Networks []netip.Prefix // whose addresses are reached besides public ones
	Limit    int64          // bytes of the files of a request
	Timeout  time.Duration  // of a file
}

// Fetcher gets files. Its methods may be called from any goroutine.
type Fetcher struct {
	options Options
	client  *http.Client

	// Tests have others.
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// New makes a fetcher.
func New(o Options) *Fetcher {
	f := &Fetcher{options: o, dial: new(net.Dialer).DialContext}
	f.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	f.client = &http.Client{CheckRedirect: f.follow, Transport: &http.Transport{
		DialContext: f.connect, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}}
	return f
}

// refused is an error that is told to the client as it stands.
type refused string

func (r refused) Error() string { return string(r) }

// Get fetches a file of at most `most` bytes. When ctx is done it ends soon, with its cause.
func (f *Fetcher) Get(ctx context.Context, address string, most int64) ([]byte, error) {
	if len(address) > maxURL {
		return nil, fmt.Errorf("has %d bytes; a URL may have %d", len(address), maxURL)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("is %q, which is no URL", excerpt.Of(address, 80))
	}
	if err := f.check(u); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	data, err := f.get(timed, u, most)
	var told refused
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &told):
		return nil, told
	case timed.Err() != nil:
		return nil, fmt.Errorf("cannot be fetched within %s (media.url_timeout): send the file itself, as a data: URL", f.options.Timeout)
	}
	return nil, errors.New("cannot be fetched: its server is not reached, or does not answer as it should; send the file itself, as a data: URL")
}

// check refuses URLs that are not asked for, before their host is looked up.
func (f *Fetcher) check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !f.options.HTTP):
		allowed := "https:"
		if f.options.HTTP {
			allowed = "https: and http:"
		}
		return refused(fmt.Sprintf("is a URL of %q; %s and data: URLs are taken here (media.urls)", excerpt.Of(u.Scheme+":", 20), allowed))
	case u.User != nil:
		return refused("has a user or a password in it; a URL without is taken")
	case u.Hostname() == "":
		return refused("names no host")
	}
	return nil
}

// follow decides whether a redirect is followed.
func (f *Fetcher) follow(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return refused(fmt.Sprintf("leads to more than %d other URLs, one after another", maxRedirects))
	}
	next.Header.Del("Referer")
	if err := f.check(next.URL); err != nil {
		return refused("leads to a URL that " + err.Error())
	}
	return nil
}

func (f *Fetcher) get(ctx context.Context, u *url.URL, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "penstock")
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	tooLarge := refused(fmt.Sprintf("has more than %d bytes behind it; the files that a request names by URL may have %d together (media.url_limit): send smaller ones", most, f.options.Limit))
	switch encoding := answer.Header.Get("Content-Encoding"); {
	case answer.StatusCode != http.StatusOK:
		return nil, refused(fmt.Sprintf("cannot be fetched: its server answers with status %d", answer.StatusCode))
	case encoding != "" && encoding != "identity":
		return nil, refused("cannot be fetched: its server packs the file, though it was not asked to")
	case answer.ContentLength > most:
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case ctx.Err() != nil: // a server that sees the connection go may end the file as if it were whole
		return nil, ctx.Err()
	case err == nil && int64(len(data)) > most:
		return nil, tooLarge
	}
	return data, err
}

// connect dials an address of a host that may be reached, and no other.
func (f *Fetcher) connect(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addresses, err := f.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	failed := error(refused(fmt.Sprintf("names the host %q, which has no public address (media.url_networks lists the others that are reached)", excerpt.Of(host, 80))))
	for _, a := range addresses {
		if a = a.Unmap(); !f.allows(a) {
			continue
		}
		var conn net.Conn
		if conn, failed = f.dial(ctx, network, net.JoinHostPort(a.String(), port)); failed == nil {
			return conn, nil
		}
	}
	return nil, failed
}

func (f *Fetcher) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return f.resolve(ctx, host)
}

func (f *Fetcher) allows(a netip.Addr) bool {
	return isWithin(f.options.Networks, a) || IsPublic(a)
}

// special are the networks of IPv4 that are no hosts of the internet, by IANA's registry of
// special-purpose addresses, with multicast and what is reserved.
var special = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3")

// All hosts of the internet with IPv6 are in global, but for special6. A network of nat64 stands
// for one of IPv4.
var (
	global   = netip.MustParsePrefix("2000::/3")
	special6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// IsPublic reports whether a host of the internet may have this address: it is not one of this
// machine, its network, its provider's or a tunnel.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" {
		return false
	}
	if nat64.Contains(a) {
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if a.Is4() {
		return !isWithin(special, a)
	}
	return global.Contains(a) && !isWithin(special6, a)
}

func isWithin(networks []netip.Prefix, a netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}
