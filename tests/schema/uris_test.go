// SPDX-License-Identifier: MIT

package schema

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// references is RFC 3986's grammar once more, as a pattern: net/url, which the other implementation
// asks, takes more texts, and fewer hosts. Its groups are the scheme and the address of a host in
// brackets.
var references = func() *regexp.Regexp {
	const char = `[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2}`
	const segment = `(?:` + char + `|[:@])`
	const host = `\[([0-9A-Fa-f:.]+|v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]|(?:` + char + `)*`
	const authority = `//(?:(?:` + char + `|:)*@)?(?:` + host + `)(?::[0-9]*)?(?:/` + segment + `*)*`
	const absolute = `/(?:` + segment + `+(?:/` + segment + `*)*)?`
	const rootless = segment + `+(?:/` + segment + `*)*`
	const tail = `(?:\?(?:` + segment + `|[/?])*)?(?:#(?:` + segment + `|[/?])*)?`
	const relative = `(?:` + char + `|@)+(?:/` + segment + `*)*`
	return regexp.MustCompile(`^(?:([A-Za-z][A-Za-z0-9+.-]*):(?:` + authority + `|` + absolute + `|` + rootless + `|)|(?:` + authority + `|` + absolute + `|` + relative + `|))` + tail + `$`)
}()

// asURIs has a compiler read URIs so.
func asURIs(c *jsonschema.Compiler) {
	check := func(absolute bool) func(v any) error {
		return func(v any) error {
			text, ok := v.(string)
			if !ok {
				return nil
			}
			m := references.FindStringSubmatch(text)
			if m == nil || absolute && m[1] == "" {
				return errors.New("it is no URI")
			}
			for _, address := range []string{m[2], m[3]} {
				if strings.HasPrefix(address, "v") {
					continue
				}
				if ip, err := netip.ParseAddr(address); address != "" && (err != nil || !ip.Is6()) {
					return errors.New("its host is no address")
				}
			}
			return nil
		}
	}
	c.RegisterFormat(&jsonschema.Format{Name: "uri", Validate: check(true)})
	c.RegisterFormat(&jsonschema.Format{Name: "uri-reference", Validate: check(false)})
}
