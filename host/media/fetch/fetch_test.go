// SPDX-License-Identifier: MIT

package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// web is an internet of one server: names are looked up in a table, and each address that is
// dialled is the server's.
type web struct {
	*Fetcher
	names  map[string][]string // the addresses of a host; each lookup takes those before the next "then"
	dialed []string
}

// onWeb makes a fetcher whose internet is a server of this machine with TLS.
func onWeb(t *testing.T, o Options, handler http.HandlerFunc) *web {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	plain := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(plain.Close)
	if o.Limit == 0 {
		o.Limit = 1000
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	w := &web{Fetcher: New(o), names: map[string][]string{"example.com": {"93.184.215.14"}}}
	w.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}
	w.resolve = func(_ context.Context, host string) (found []netip.Addr, err error) {
		left := w.names[host]
		for i, a := range left {
			if a == "then" {
				w.names[host] = left[i+1:]
				return found, nil
			}
			found = append(found, netip.MustParseAddr(a))
		}
		if found == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return found, nil
	}
	w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.dialed = append(w.dialed, address)
		to := server.Listener.Addr().String()
		if strings.HasSuffix(address, ":80") {
			to = plain.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	return w
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

func serve(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func TestFetcher_Get(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	w := onWeb(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("the request has %v", r.Header)
		}
		fmt.Fprint(w, "a picture")
	})
	data, err := w.Get(context.Background(), "https://example.com/a.png", w.options.Limit)
	if err != nil || string(data) != "a picture" {
		t.Fatalf("%q, %v", data, err)
	}
	if len(w.dialed) != 1 || w.dialed[0] != "93.184.215.14:443" {
		t.Errorf("dialled %v; want the address that was looked up", w.dialed)
	}
}

func TestFetcher_Get_Schemes(t *testing.T) {
	w := onWeb(t, Options{}, serve("x"))
	for _, u := range []string{"http://example.com/", "file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "//example.com/", "example.com/a.png", "HTTP://example.com"} {
		_, err := w.Get(context.Background(), u, w.options.Limit)
		says(t, err, "https: and data: URLs are taken here (media.urls)")
	}
	_, err := w.Get(context.Background(), "https://user:pass@example.com/", w.options.Limit)
	says(t, err, "has a user or a password in it")
	_, err = w.Get(context.Background(), "https:///a.png", w.options.Limit)
	says(t, err, "names no host")
	_, err = w.Get(context.Background(), "https://exa mple.com/\x7f", w.options.Limit)
	says(t, err, "is no URL")
	_, err = w.Get(context.Background(), "https://example.com/"+strings.Repeat("a", maxURL), w.options.Limit)
	says(t, err, "a URL may have 4096")
	if len(w.dialed) > 0 {
		t.Errorf("dialled %v", w.dialed)
	}
	open := onWeb(t, Options{HTTP: true}, serve("x"))
	if data, err := open.Get(context.Background(), "http://example.com/", open.options.Limit); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}

// No address that is not public is dialled, whether a URL has it, a name means it, or a redirect
// leads to it.
func TestFetcher_Get_AddressesWithin(t *testing.T) {
	within := []string{"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
		"239.255.255.250", "255.255.255.255", "198.18.0.1", "192.0.2.1", "::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "fec0::1", "::ffff:127.0.0.1",
		"::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "100::1"}
	for _, a := range within {
		literal := a
		if strings.Contains(a, ":") {
			literal = "[" + a + "]"
		}
		w := onWeb(t, Options{HTTP: true}, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://"+literal+"/x", http.StatusFound)
		})
		w.names["inside.test"] = []string{a}
		for _, u := range []string{"https://" + literal + "/x", "http://" + literal + ":8080/", "https://inside.test/"} {
			_, err := w.Get(context.Background(), u, w.options.Limit)
			says(t, err, "which has no public address")
		}
		if len(w.dialed) > 0 {
			t.Errorf("%s: dialled %v", a, w.dialed)
		}
		_, err := w.Get(context.Background(), "https://example.com/", w.options.Limit)
		says(t, err, "which has no public address")
		if len(w.dialed) != 1 {
			t.Errorf("%s: dialled %v; want the first server alone", a, w.dialed)
		}
	}
	for _, a := range []string{"93.184.215.14", "1.1.1.1", "2606:4700::1111", "64:ff9b::5db8:d70e", "::ffff:8.8.8.8"} {
		if !IsPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	if IsPublic(netip.MustParseAddr("2606:4700::1%eth0")) {
		t.Error("an address of one network card is public")
	}
}

// A name with addresses of both kinds leads to the public ones; one that changes between two
// lookups leads nowhere.
func TestFetcher_Get_Rebinding(t *testing.T) {
	w := onWeb(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			http.Redirect(w, r, "https://rebinds.test/second", http.StatusFound)
			return
		}
		fmt.Fprint(w, "x")
	})
	w.names["both.test"] = []string{"10.0.0.1", "93.184.215.14"}
	if _, err := w.Get(context.Background(), "https://both.test/", w.options.Limit); err != nil {
		t.Error(err)
	}
	w.names["rebinds.test"] = []string{"93.184.215.14", "then", "127.0.0.1"}
	_, err := w.Get(context.Background(), "https://rebinds.test/first", w.options.Limit)
	says(t, err, "which has no public address")
	if got := strings.Join(w.dialed, " "); got != "93.184.215.14:443 93.184.215.14:443" {
		t.Errorf("dialled %s", got)
	}
}

func TestFetcher_Get_Networks(t *testing.T) {
	w := onWeb(t, Options{Networks: prefixes("10.1.0.0/16")}, serve("x"))
	w.names["inside.test"] = []string{"10.1.2.3"}
	if _, err := w.Get(context.Background(), "https://inside.test/", w.options.Limit); err != nil {
		t.Error(err)
	}
	_, err := w.Get(context.Background(), "https://10.2.0.1/", w.options.Limit)
	says(t, err, "which has no public address")
}

func TestFetcher_Get_Redirects(t *testing.T) {
	var hops atomic.Int64
	w := onWeb(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" {
			t.Error("a redirect tells where it comes from")
		}
		switch n := hops.Add(1); r.URL.Path {
		case "/endless":
			http.Redirect(w, r, "/endless", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case "/user":
			http.Redirect(w, r, "https://a:b@example.com/", http.StatusFound)
		case "/three":
			if n <= maxRedirects {
				http.Redirect(w, r, "/three", http.StatusFound)
			}
		}
	})
	_, err := w.Get(context.Background(), "https://example.com/endless", w.options.Limit)
	says(t, err, "leads to more than 3 other URLs")
	if n := hops.Load(); n != maxRedirects+1 {
		t.Errorf("%d requests", n)
	}
	_, err = w.Get(context.Background(), "https://example.com/plain", w.options.Limit)
	says(t, err, `leads to a URL that is a URL of "http:"`)
	_, err = w.Get(context.Background(), "https://example.com/user", w.options.Limit)
	says(t, err, "has a user or a password in it")
	hops.Store(0)
	if _, err = w.Get(context.Background(), "https://example.com/three", w.options.Limit); err != nil {
		t.Error(err)
	}
}

func TestFetcher_Get_Limits(t *testing.T) {
	w := onWeb(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/said":
			w.Header().Set("Content-Length", "1001")
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
		case "/header":
			w.Header().Set("X", strings.Repeat("x", maxHeader+1))
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1000))
			}
			return
		}
		_, _ = w.Write(make([]byte, 1000))
	})
	for path, want := range map[string]string{"/said": "has more than 1000 bytes behind it; the files that a request names by URL may have 1000 together (media.url_limit)", "/endless": "has more than 1000 bytes",
		"/packed": "packs the file", "/header": "cannot be fetched", "/missing": "answers with status 404"} {
		_, err := w.Get(context.Background(), "https://example.com"+path, w.options.Limit)
		says(t, err, want)
	}
	if data, err := w.Get(context.Background(), "https://example.com/", w.options.Limit); err != nil || len(data) != 1000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// A server that sends a byte now and then is given up when the time for the whole is over, and at
// once when the client leaves.
func TestFetcher_Get_Trickle(t *testing.T) {
	trickle := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte{0})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	w := onWeb(t, Options{Timeout: 50 * time.Millisecond, Limit: 1 << 30}, trickle)
	_, err := w.Get(context.Background(), "https://example.com/", w.options.Limit)
	says(t, err, "cannot be fetched within 50ms (media.url_timeout)")

	w = onWeb(t, Options{Limit: 1 << 30}, trickle)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancelled := w.dial
	w.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		defer cancel(gone)
		return cancelled(ctx, network, address)
	}
	if _, err := w.Get(ctx, "https://example.com/", 1<<30); !errors.Is(err, gone) {
		t.Errorf("%v; want the cause", err)
	}
}

func TestFetcher_Get_UnknownHost(t *testing.T) {
	w := onWeb(t, Options{}, serve("x"))
	_, err := w.Get(context.Background(), "https://nowhere.test/", w.options.Limit)
	says(t, err, "cannot be fetched: its server is not reached")
}

// FuzzGet fetches whatever URLs there are, of hosts with addresses of all kinds: none but public
// ones are dialled.
func FuzzGet(f *testing.F) {
	for _, u := range []string{"https://example.com/", "http://127.0.0.1:80/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "https://0x7f.1/", "https://a@b/", "https://a%2f@b/", "HTTPS://[fe80::1%25lo]:99/",
		"https://2130706433/", "https://\uff11\uff12\uff17.1/", "https://example.com:99999/", "https:///x", "https://8.8.8.8#@127.0.0.1/", "https://8.8.8.8\\@127.0.0.1/"} {
		f.Add(u)
	}
	w := &web{Fetcher: New(Options{HTTP: true, Limit: 1000, Timeout: time.Minute})}
	w.resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("8.8.4.4"), netip.MustParseAddr("::ffff:169.254.169.254")}, nil
	}
	f.Fuzz(func(t *testing.T, u string) {
		w.dial = func(_ context.Context, _, address string) (net.Conn, error) {
			if a, err := netip.ParseAddrPort(address); err == nil && !IsPublic(a.Addr()) {
				t.Errorf("%q had %s dialled", u, address)
			}
			return nil, errors.New("nobody is there")
		}
		if data, err := w.Get(context.Background(), u, 1000); err == nil {
			t.Errorf("%q gave %q", u, data)
		}
	})
}
