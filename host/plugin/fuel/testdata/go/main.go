// SPDX-License-Identifier: MIT

// Command go is a guest for the rewriter's tests: what samplers do, through
// the whole runtime of stock Go. It is built for wasip1 as a reactor.
package main

import (
	"sort"
	"strconv"
	"strings"
)

var logits []float32

//go:wasmexport fill
func fill(n, seed uint32) {
	logits = make([]float32, n)
	for i := range logits {
		seed = seed*1664525 + 1013904223
		logits[i] = float32(seed>>8) / (1 << 20)
	}
}

//go:wasmexport argmax
func argmax(scale float32) int32 {
	best, at := float32(-1e30), 0
	for i, v := range logits {
		if v *= scale; v > best {
			best, at = v, i
		}
	}
	return int32(at)
}

// top sorts indices by logit and mixes the first k into a number.
//
//go:wasmexport top
func top(k int32) int32 {
	order := make([]int, len(logits))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return logits[order[a]] > logits[order[b]] })
	sum := int32(0)
	for _, i := range order[:k] {
		sum = sum*31 + int32(i)
	}
	return sum
}

// text makes garbage: strings, a map, and parsing.
//
//go:wasmexport text
func text(n int32) int32 {
	seen, sum := map[string]int{}, 0
	for i := range int(n) {
		word := strings.Repeat(strconv.Itoa(i*i%97), 3)
		seen[word]++
		x, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		sum += x % 1009
	}
	return int32(sum + len(seen))
}

//go:wasmexport fib
func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {}
