// SPDX-License-Identifier: MIT

package config

import "time"

// mediaKeys are the section media: pictures and sounds in requests.
var mediaKeys = []Key{
	{Name: "media.image_pixels", Kind: Integer, Default: 50_000_000, check: between(1, 1<<30),
		Allowed: "1 to 1073741824", Help: "most pixels of a picture"},
	{Name: "media.sound_length", Kind: Duration, Default: 10 * time.Minute, check: lasting(time.Second, 24*time.Hour),
		Allowed: "1s to 24h", Help: "most time that a sound may last"},
	{Name: "media.decode_memory", Kind: Bytes, Default: int64(512 << 20), check: sized(1<<20, 1<<40),
		Allowed: "1MiB to 1TiB", Help: "most memory for decoding the pictures and sounds of all requests together, and for what they have become; requests wait for it, and one that needs more is refused"},
	{Name: "media.urls", Kind: Text, Default: "off", check: oneOf("off", "https", "http"),
		Allowed: "off, https or http", Help: "which URLs of pictures and sounds are fetched: none but data: URLs, https alone, or http too; only from public addresses, and without a proxy"},
	{Name: "media.url_networks", Kind: List, Default: []string{}, check: reads[Network],
		Allowed: "addresses or networks such as 10.1.0.0/16", Help: "addresses that such URLs may lead to besides public ones; none: no other"},
	{Name: "media.url_limit", Kind: Bytes, Default: int64(16 << 20), check: sized(1<<10, 1<<30),
		Allowed: "1KiB to 1GiB", Help: "most bytes of the files that a request names by URL, together"},
	{Name: "media.url_timeout", Kind: Duration, Default: 20 * time.Second, check: lasting(10*time.Millisecond, time.Hour),
		Allowed: "10ms to 1h", Help: "how long fetching such a file may take, from looking up its host to its last byte"},
	{Name: "media.cache", Kind: Bytes, Default: int64(256 << 20), check: sized(0, 1<<40),
		Allowed: "0 to 1TiB", Help: "most memory for the embeddings of pictures and sounds that a model has seen or heard, so that the same one is not encoded again; of each model; 0: none"},
	{Name: "media.max_queue", Kind: Integer, Default: 64, check: between(1, 1<<16),
		Allowed: "1 to 65536", Help: "pictures and sounds that may wait to be encoded for a model; one that is asked for by several requests counts once"},
}
