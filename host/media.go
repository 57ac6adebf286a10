// SPDX-License-Identifier: MIT

package host

import (
	"net/netip"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/media/fetch"
)

// MediaOptions bounds the pictures and sounds of requests.
func MediaOptions(c config.Media) media.Bounds {
	o := media.Bounds{Pixels: c.ImagePixels, Sound: c.SoundLength, Memory: c.DecodeMemory}
	if c.URLs == "off" {
		return o
	}
	o.Fetch = &fetch.Options{HTTP: c.URLs == "http", Limit: c.URLLimit, Timeout: c.URLTimeout}
	for _, text := range c.URLNetworks {
		network, err := config.ParseNetwork(text)
		if err != nil { // it was checked
			continue
		}
		a, ok := netip.AddrFromSlice(network.IP)
		if ones, bits := network.Mask.Size(); ok && bits > 0 {
			o.Fetch.Networks = append(o.Fetch.Networks, netip.PrefixFrom(a, ones))
		}
	}
	return o
}
