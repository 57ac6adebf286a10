// SPDX-License-Identifier: MIT

package config

import (
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

func between(low, high int) func(any) bool {
	return func(v any) bool { n := v.(int); return n >= low && n <= high }
}

func sized(low, high int64) func(any) bool {
	return func(v any) bool { n := v.(int64); return n >= low && n <= high }
}

func lasting(low, high time.Duration) func(any) bool {
	return func(v any) bool { d := v.(time.Duration); return d >= low && d <= high }
}

// within is false for NaN.
func within(low, high float64) func(any) bool {
	return func(v any) bool { f := v.(float64); return f >= low && f <= high }
}

func oneOf(names ...string) func(any) bool {
	return func(v any) bool { return slices.Contains(names, v.(string)) }
}

// areDrafters knows llama-server's types of speculative decoding, except those that guess blocks.
func areDrafters(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool {
		return !slices.Contains([]string{"none", "draft-simple", "draft-mtp", "draft-eagle3", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"}, s)
	})
}

// noBlanks takes a text, which may be empty, or a list of texts, which may not.
func noBlanks(v any) bool {
	if text, ok := v.(string); ok {
		return !strings.ContainsAny(text, " \t\r\n")
	}
	return !slices.ContainsFunc(v.([]string), func(s string) bool { return s == "" || strings.ContainsAny(s, " \t\r\n") })
}

func areOrigins(v any) bool {
	return !slices.ContainsFunc(v.([]string), func(s string) bool {
		if s == "*" || s == "localhost" {
			return false
		}
		u, err := url.Parse(s)
		return err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.Path != ""
	})
}

func isEndpoint(v any) bool {
	if v.(string) == "" {
		return true
	}
	u, err := url.Parse(v.(string))
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func isHub(v any) bool {
	text := v.(string)
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.RawQuery == ""
}

func isFolder(v any) bool {
	folder := v.(string)
	stat, err := os.Stat(folder)
	return folder == "" || err == nil && stat.IsDir()
}

// isPrefix knows paths that need no escapes, so that each has one spelling.
func isPrefix(v any) bool {
	prefix := v.(string)
	return prefix == "" || prefix != "/" && strings.HasPrefix(prefix, "/") && path.Clean(prefix) == prefix &&
		!strings.ContainsFunc(prefix, func(r rune) bool { return !strings.ContainsRune("/-._~", r) && !isLetterOrDigit(r) })
}

func isLetterOrDigit(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
