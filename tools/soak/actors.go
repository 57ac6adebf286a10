// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"math/rand/v2"
	"strings"
)

// actor is something that clients or operators do.
type actor struct {
	name   string
	weight int
	act    func(ctx context.Context, s *soak, rng *rand.Rand) error
}

var actors = []actor{
	{"greedy", 300, greedy},
	{"drawn", 40, drawn},
	{"several choices", 15, severalChoices},
	{"leaves", 60, leaves},
	{"slow reader", 4, slowReader},
	{"timeout", 15, timeout},
	{"wrong body", 90, wrongBody},
	{"small route", 450, smallRoute},
	{"words", 120, words},
	{"embedding", 30, embedding},
	{"rerank", 15, rerank},
	{"socket", 40, socketGreedy},
	{"socket paused", 20, socketPaused},
	{"socket rewound", 20, socketRewound},
	{"socket forked", 12, socketForked},
	{"socket attached", 15, socketAttached},
	{"socket steered", 25, socketSteered},
	{"socket left", 15, socketLeft},
	{"socket slow", 4, socketSlow},
	{"socket watch", 10, socketWatch},
	{"hostile plugin", 15, hostilePlugin},
	{"wrong module", 6, wrongModule},
	{"upload", 6, upload},
	{"plugin file", 2, pluginFile},
	{"key file", 2, keyFile},
	{"adapters", 5, adapters},
	{"model", 2, reloadModel},
	{"slot file", 6, slotFile},
	{"for others", 6, forOthers},
	{"attack", 6, attacking},
	{"attack unread", 2, notReading},
}

// chosen are the actors whose names begin so.
func chosen(only string) (some []actor) {
	for _, a := range actors {
		if strings.HasPrefix(a.name, only) {
			some = append(some, a)
		}
	}
	return some
}

func actorNames() (names []string) {
	for _, a := range actors {
		names = append(names, a.name)
	}
	return names
}

// draw picks an actor by weight.
func draw(from []actor, rng *rand.Rand) actor {
	sum := 0
	for _, a := range from {
		sum += a.weight
	}
	n := rng.IntN(sum)
	for _, a := range from {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	return from[0]
}

// pick is one of a list.
func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
