// SPDX-License-Identifier: MIT

package lexeme

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// wide is an expression of many states and of large classes.
func wide(a *Arena) Expr {
	letters := a.Class(Range{'a', 'z'}, Range{'à', 'ÿ'}, Range{'α', 'ω'}, Range{0x4E00, 0x9FFF})
	word := a.Repeat(letters, 1, 12)
	return a.And(a.Repeat(a.Then(word, a.Class(Range{' ', ' '}, Range{'-', '-'})), 0, Unbounded), a.Not(a.Then(All, a.Text("bad"), All)), a.Repeat(Char, 0, 200))
}

// Peek and Accepts are called without the lock that the others need.
func TestAutomata_Peek_BesideNext(t *testing.T) {
	a := NewArena(10_000)
	x := wide(a)
	m := NewAutomata(a, 1<<26)
	var mu sync.Mutex
	start, err := m.Start(x, JSONString)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			texts := []string{"abc ", "bad ", "é-", "漢字 ", `\u00e9`, "ba", "d ", "αβγ-"}
			for range 300 {
				s := start
				for range 20 {
					for _, b := range []byte(texts[r.IntN(len(texts))]) {
						next, known := m.Peek(s, b)
						if !known {
							mu.Lock()
							var err error
							next, err = m.Next(s, b)
							mu.Unlock()
							if err != nil {
								t.Error(err)
								return
							}
						}
						s = next
						m.Accepts(s)
					}
				}
			}
		})
	}
	wait.Wait()
}

// reports how long a byte takes where all states are made already.
func BenchmarkAutomata_Next_Warm(b *testing.B) {
	a := NewArena(10_000)
	x := wide(a)
	for name, text := range map[string]string{"ASCII": "some words and-some more ", "letters": "été 漢字 αβγ-été "} {
		b.Run(name, func(b *testing.B) {
			m := NewAutomata(a, 1<<26)
			start, err := m.Start(x, JSONString)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			s, at := start, 0
			for b.Loop() {
				if s, err = m.Next(s, text[at]); err != nil || s == Dead {
					b.Fatal(s, err)
				}
				if at++; at == len(text) {
					s, at = start, 0
				}
			}
		})
	}
}

// reports how long a byte takes that makes new states.
func BenchmarkAutomata_Next_Cold(b *testing.B) {
	a := NewArena(10_000)
	x := wide(a)
	const text = "some words and-some more été "
	b.ReportAllocs()
	for b.Loop() {
		m := NewAutomata(a, 1<<26)
		s, err := m.Start(x, JSONString)
		if err != nil {
			b.Fatal(err)
		}
		for i := range len(text) {
			if s, err = m.Next(s, text[i]); err != nil || s == Dead {
				b.Fatal(s, err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(text)), "ns/byte")
}
