// SPDX-License-Identifier: MIT

package config

import (
	"slices"
)

// Risk is something that the configuration allows and that is rarely meant.
type Risk struct {
	What   string
	Remedy string
}

// Risks lists what is unsafe. What is reached by other machines is judged by server.listen alone:
// a proxy or a container may hide it.
func (c Config) Risks() []Risk {
	s := c.Server
	public := s.Listen.Socket == "" && !s.Listen.Loopback()
	var risks []Risk
	isEverywhere := func(n Network) bool { return n.Bits() == 0 }
	add := func(holds bool, what, remedy string) {
		if holds {
			risks = append(risks, Risk{what, remedy})
		}
	}
	add(public && !s.NeedsKey(), "everybody who can reach "+s.Listen.String()+" may use the model", "ask for a key with --api-key or --api-key-file, or listen on 127.0.0.1")
	add(public && !s.NeedsKey() && c.Plugins.Modules == CodeOn, "everybody who can reach "+s.Listen.String()+" may upload code, which runs in the sandbox of plugins",
		"ask for a key, or name the keys that may with --modules keys --module-key")
	add(public && s.SSLCertFile == "" && (s.NeedsKey() || s.AdminKey != ""), "keys and texts cross the network unencrypted",
		"set --ssl-cert-file and --ssl-key-file, or listen on 127.0.0.1 behind a proxy that has TLS")
	add(slices.Contains(s.CORSOrigins, "*") && !s.NeedsKey(), "every page that a user of this network visits may use the model",
		"name the origins in --cors-origins, or ask for a key")
	short := func(key string) bool { return len(key) < 16 }
	add(slices.ContainsFunc(s.APIKeys, short) || s.AdminKey != "" && short(s.AdminKey), "a key has fewer than 16 characters and may be guessed",
		"make one with openssl rand -hex 32")
	add(slices.Contains(s.APIKeys, s.AdminKey), "an API key is the admin key, so that clients may remove plugins", "use different keys")
	add(slices.ContainsFunc(s.TrustedProxies, isEverywhere), "every client may claim any address",
		"name the addresses of the proxies in server.trusted_proxies")
	add(c.Media.URLs != "off" && slices.ContainsFunc(c.Media.URLNetworks, isEverywhere),
		"every client may have the server fetch from its own machine and network", "name the addresses of the servers with pictures in media.url_networks")
	return risks
}
