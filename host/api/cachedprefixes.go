// SPDX-License-Identifier: MIT

package api

import (
	"maps"
	"slices"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// prefixLoad is what GET /v1/load tells of cached prompts and answers.
type prefixLoad struct {
	BlockTokens int         `json:"block_tokens"`
	Complete    bool        `json:"complete"` // no digest is left out
	Sets        []prefixSet `json:"sets"`
}

// prefixSet are the digests of what is computed with the same adapters.
type prefixSet struct {
	Adapters []scaledAdapter `json:"adapters"` // none: the model alone
	Digests  []string        `json:"digests"`
}

type scaledAdapter struct {
	Name  string  `json:"name"`
	Scale float32 `json:"scale"`
}

// prefixesOf are the cached prefixes that requests with a cache salt may use, with so many digests
// at most.
func prefixesOf(all []kvcache.Prefix, salt string, a serving.Adapters, most int) prefixLoad {
	p := prefixLoad{BlockTokens: kvcache.BlockTokens, Complete: true, Sets: []prefixSet{}}
	byKey := map[string][][]kvcache.Digest{}
	for _, prefix := range all {
		if prefix.Scope.Salt != salt {
			continue
		}
		p.Complete = p.Complete && len(prefix.Digests) == prefix.Blocks
		byKey[prefix.Scope.Adapters] = append(byKey[prefix.Scope.Adapters], prefix.Digests)
		if prefix.Scope.Adapters != "" { // what comes before they count is the model's own
			own := min(len(prefix.Digests), prefix.Scope.From/kvcache.BlockTokens)
			byKey[""] = append(byKey[""], prefix.Digests[:own])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		set := prefixSet{Adapters: []scaledAdapter{}}
		if key != "" {
			named, loaded := namesOf(a, key)
			if !loaded {
				continue
			}
			set.Adapters = named
		}
		var whole bool
		set.Digests, whole = spread(byKey[key], most)
		p.Complete = p.Complete && whole
		if most -= len(set.Digests); len(set.Digests) > 0 {
			p.Sets = append(p.Sets, set)
		}
	}
	return p
}

func namesOf(a serving.Adapters, key string) (names []scaledAdapter, ok bool) {
	if a == nil {
		return nil, false
	}
	set, ok := a.Named(key)
	for _, s := range set {
		names = append(names, scaledAdapter{s.Name, s.Scale})
	}
	return names, ok
}

// spread takes the digests of prefixes, each once and so many at most: first those of all first
// blocks, then of all second ones, and so on. So each prefix is found, a long one perhaps as if it
// were shorter. It reports whether none was left out.
func spread(prefixes [][]kvcache.Digest, most int) (digests []string, whole bool) {
	digests = []string{}
	seen := map[kvcache.Digest]bool{}
	for depth := 0; ; depth++ {
		prefixes = slices.DeleteFunc(prefixes, func(p []kvcache.Digest) bool { return len(p) <= depth })
		if len(prefixes) == 0 {
			return digests, true
		}
		for _, p := range prefixes {
			switch d := p[depth]; {
			case seen[d]:
			case len(digests) == most:
				return digests, false
			default:
				seen[d] = true
				digests = append(digests, d.String())
			}
		}
	}
}
