// SPDX-License-Identifier: MIT

package lexeme

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// follow reads bytes from a state on.
func follow(t testing.TB, m *Automata, s State, text string) State {
	t.Helper()
	for i := range len(text) {
		next, err := m.Next(s, text[i])
		if err != nil {
			t.Fatalf("%q, byte %d: %v", text, i, err)
		}
		if s = next; s == Dead {
			break
		}
	}
	return s
}

// spellings are all ways to write a character within a JSON string.
func spellings(r rune) []string {
	all := []string{}
	if r >= 0x20 && r != '"' && r != '\\' {
		all = append(all, string(r))
	}
	for c, m := range meant {
		if m == r {
			all = append(all, `\`+string(rune(c)))
		}
	}
	hex := fmt.Sprintf(`\u%04x`, r)
	if r >= 1<<16 {
		high, low := utf16.EncodeRune(r)
		hex = fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	upper := strings.ReplaceAll(strings.ToUpper(hex), `\U`, `\u`)
	return append(all, hex, upper)
}

func TestAutomata_JSONString_TakesEverySpelling(t *testing.T) {
	a := NewArena(1000)
	all := []rune{0, 1, '\b', '\t', '\n', '\f', '\r', 0x1F, ' ', '"', '/', '\\', 'a', 0x7F, 'é', 0x7FF, 0x800, 0x2028, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF}
	for _, r := range all {
		a.Class(Range{r, r}) // before there is a table of states
	}
	m := NewAutomata(a, 1<<26)
	any := must.Get(m.Start(All, JSONString))(t)
	for _, r := range all {
		one := must.Get(m.Start(a.Class(Range{r, r}), JSONString))(t)
		for _, s := range spellings(r) {
			var decoded string
			if err := json.Unmarshal([]byte(`"`+s+`"`), &decoded); err != nil || decoded != string(r) {
				t.Fatalf("%q is no spelling of %U: %q, %v", s, r, decoded, err)
			}
			for _, start := range []State{any, one} {
				for i := range len(s) {
					if got := follow(t, m, start, s[:i]); got == Dead || start == one && m.Accepts(got) {
						t.Errorf("%U: %q is dead or accepted", r, s[:i])
					}
				}
				if got := follow(t, m, start, s); got == Dead || !m.Accepts(got) {
					t.Errorf("%U: %q is not accepted", r, s)
				}
			}
			if got := follow(t, m, one, s); m.Accepts(got) {
				if next := follow(t, m, got, "a"); next != Dead {
					t.Errorf("%U: something follows %q", r, s)
				}
			}
		}
	}
}

func TestAutomata_Next_ForbidsWhatIsNoText(t *testing.T) {
	a := NewArena(1000)
	for name, c := range map[string]struct {
		d    Decoder
		dead []string
	}{
		"UTF-8": {UTF8, []string{"\x80", "\xc0", "\xc1", "\xe0\x80", "\xe0\x9f", "\xed\xa0", "\xf0\x80", "\xf0\x8f", "\xf4\x90", "\xf5", "\xff", "\xc3a", "\xe2\x82a"}},
		"JSON":  {JSONString, []string{"\x80", "\xed\xa0", "\x00", "\n", "\x1f", `"`, `\x`, `\a`, `\U`, `\ug`, `\u00g`, `\udc`, `\udC`, `\uDF`, `\ud83dx`, `\ud83d"`, `\ud83d\n`, `\ud83d\u0`, `\ud83d\ud8`, `\ud83d\ue`}},
	} {
		m := NewAutomata(a, 1<<26)
		start := must.Get(m.Start(All, c.d))(t)
		for _, s := range c.dead {
			if before := follow(t, m, start, s[:len(s)-1]); before == Dead {
				t.Errorf("%s: %q is dead", name, s[:len(s)-1])
			}
			if got := follow(t, m, start, s); got != Dead {
				t.Errorf("%s: %q is not dead", name, s)
			}
		}
	}
}

func TestAutomata_Next_HalfCharactersLeadOnlyToWholeOnes(t *testing.T) {
	a := NewArena(1000)
	x := a.Class(Range{'à', 'ç'}, Range{0x1F600, 0x1F603})
	m := NewAutomata(a, 1<<26)
	start := must.Get(m.Start(x, JSONString))(t)
	for s, live := range map[string]bool{
		"\xc3": true, "\xc4": false, "\xc3\xa0": true, "\xc3\xa8": false, "\xf0": true, "\xf1": false, "\xf0\x9f\x98": true, "\xf0\x9f\x98\x84": false,
		`\`: true, `\n`: false, `\u`: true, `\u00`: true, `\u00e`: true, `\u00E`: true, `\u00f`: false, `\ud8`: true, `\ud83d`: true, `\uD83D`: true,
		`\ud83c`: false, `\ud83d\u`: true, `\ud83d\ude0`: true, `\ud83d\ude1`: false, `\ud83d\ude04`: false, `\uffff`: false,
	} {
		if got := follow(t, m, start, s); (got != Dead) != live {
			t.Errorf("%q: live is %v", s, got != Dead)
		}
	}
}

// randomSpelling writes a text within a JSON string, one time in three with a fault.
func randomSpelling(r *rand.Rand, text string) string {
	var b strings.Builder
	for _, c := range text {
		all := spellings(c)
		b.WriteString(all[r.IntN(len(all))])
	}
	s := []byte(b.String())
	const faults = "abcdef\\u\"0189\x80\xc3\x1f"
	if r.IntN(3) == 0 && len(s) > 0 {
		s[r.IntN(len(s))] = faults[r.IntN(len(faults))]
	}
	return string(s)
}

// decoded is what bytes mean within a JSON string, by encoding/json. It takes lone surrogates and
// faulty UTF-8, and returns U+FFFD.
func decoded(s string) (string, bool) {
	var text string
	err := json.Unmarshal([]byte(`"`+s+`"`), &text)
	return text, err == nil && utf8.ValidString(s) && !strings.ContainsRune(text, utf8.RuneError)
}

func TestAutomata_Random_IsTheExpressionOfWhatIsDecoded(t *testing.T) {
	r := steadytest.Rand(t)
	texts := allTexts(3)
	for range 300 {
		a := NewArena(100_000)
		x, _, written := randomExpr(r, a, 1+r.IntN(5))
		m, moved := NewAutomata(a, 1<<24), NewAutomata(a, 1<<24)
		for _, d := range []Decoder{UTF8, JSONString} {
			start := must.Get(m.Start(x, d))(t)
			for range 200 {
				text := texts[r.IntN(len(texts))]
				spelled, fits := text, true
				if d == JSONString {
					spelled = randomSpelling(r, text)
					text, fits = decoded(spelled)
				}
				want := must.Get(a.Match(x, text))(t)
				half := r.IntN(len(spelled) + 1)
				s := follow(t, m, start, spelled[:half])
				later := must.Get(m.Move(s, moved))(t)
				later = follow(t, moved, later, spelled[half:])
				s = follow(t, m, s, spelled[half:])
				if m.Accepts(s) != moved.Accepts(later) || (s == Dead) != (later == Dead) {
					t.Fatalf("%s: %q is something else in other automata from byte %d on", written, spelled, half)
				}
				if got := m.Accepts(s); got != (want && fits) {
					t.Fatalf("%s accepts %q: %v; want %v", written, spelled, got, want && fits)
				}
			}
			checkShortest(t, m, start, written)
			checkRoom(t, m, start, r, written)
		}
	}
}

// checkShortest compares Shortest with a search through all bytes, from all states that it reaches.
func checkShortest(t *testing.T, m *Automata, start State, written string) {
	t.Helper()
	if start == Dead {
		return
	}
	before := map[State][]State{}
	all := []State{start}
	seen := map[State]bool{start: true}
	for i := 0; i < len(all) && i < 300; i++ {
		for b := range 256 {
			next := follow(t, m, all[i], string([]byte{byte(b)}))
			if next == Dead {
				continue
			}
			before[next] = append(before[next], all[i])
			if !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	if len(all) >= 300 {
		return // some ways were not followed
	}
	length := map[State]int{}
	var level []State
	for _, s := range all {
		if m.Accepts(s) {
			length[s] = 0
			level = append(level, s)
		}
	}
	for n := 1; len(level) > 0; n++ {
		var next []State
		for _, s := range level {
			for _, p := range before[s] {
				if _, known := length[p]; !known {
					length[p] = n
					next = append(next, p)
				}
			}
		}
		level = next
	}
	for _, s := range all {
		want, live := length[s]
		if got, err := m.Shortest(s); err != nil || got != want || !live {
			t.Fatalf("%s: the shortest rest of state %d has %d bytes, %v; want %d (live: %v)", written, s, got, err, want, live)
		}
	}
}

// checkRoom tries texts that are as long as Room says.
func checkRoom(t *testing.T, m *Automata, start State, r *rand.Rand, written string) {
	t.Helper()
	for plain := range plains {
		n := m.Room(start, plain)
		for range 20 {
			var b strings.Builder
			for range n {
				all := plainRanges[plain][r.IntN(len(plainRanges[plain]))]
				c := all.Low + r.Int32N(all.High-all.Low+1)
				if r.IntN(2) == 0 {
					c = all.Low + r.Int32N(min(all.High-all.Low+1, 26))
				}
				if !utf8.ValidRune(c) {
					c = all.Low
				}
				b.WriteRune(c)
			}
			if follow(t, m, start, b.String()) == Dead && start != Dead {
				t.Fatalf("%s: %q leads nowhere, but there is room for %d characters of class %d", written, b.String(), n, plain)
			}
		}
	}
}

// Behind all but some texts any text may follow, however many they are.
func TestAutomata_Room_AllButManyTexts(t *testing.T) {
	a := NewArena(100_000)
	var some []Expr
	for i := range 500 {
		some = append(some, a.Text(fmt.Sprintf("%d is a name", i*7919)))
	}
	x := a.Not(a.Or(some...))
	m := NewAutomata(a, 1<<24)
	s := must.Get(m.Start(x, JSONString))(t)
	for plain := range plains {
		if n := m.Room(s, plain); n != MaxRoom {
			t.Errorf("there is room for %d characters of class %d", n, plain)
		}
	}
}

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
	start := must.Get(m.Start(x, JSONString))(t)
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

// hostile are expressions that are small to write and large to follow.
func hostile(a *Arena) map[string]Expr {
	ab := a.Class(Range{'a', 'b'})
	letter := Range{'a', 'a'}
	has := func(r rune) Expr { return a.Then(All, a.Class(Range{r, r}), All) }
	all := map[string]Expr{
		"far from the end":      a.Then(a.Repeat(ab, 0, Unbounded), a.Class(letter), a.Repeat(ab, 1000, 1000)),
		"nested counts":         a.Repeat(a.Repeat(a.Repeat(a.Then(a.Repeat(ab, 1, 100), a.Class(letter)), 1, 100), 2, 100), 2, 100),
		"nested optional":       Empty,
		"all letters":           Char,
		"distinct letters":      All,
		"many words":            Nothing,
		"square":                a.Repeat(a.Then(a.Repeat(ab, 0, 1000), a.Class(letter), a.Repeat(ab, 0, 1000)), 0, 1000),
		"words of equal length": All,
	}
	for range 200 {
		all["nested optional"] = a.Repeat(a.Or(a.Then(all["nested optional"], ab), a.Class(letter)), 0, 2)
	}
	var words, lengths []Expr
	for i := range 26 {
		all["all letters"] = a.And(all["all letters"], has(rune('a'+i)))
		if i == 0 {
			all["all letters"] = has('a')
		}
		all["distinct letters"] = a.And(all["distinct letters"], a.Not(a.Then(has(rune('a'+i)), a.Class(Range{rune('a' + i), rune('a' + i)}), All)))
	}
	for i := range 5000 {
		words = append(words, a.Text(fmt.Sprintf("%c%c%x", 'a'+i%26, 'a'+i/26%26, i)))
	}
	all["many words"] = a.Or(words...)
	for _, n := range []int{7, 11, 13, 17, 19, 23} {
		lengths = append(lengths, a.Repeat(a.Repeat(ab, n, n), 0, Unbounded))
	}
	all["words of equal length"] = a.And(append(lengths, a.Repeat(Char, 1, Unbounded))...)
	for name, x := range all {
		all["not "+name] = a.Not(x)
		all["has "+name] = a.Then(All, x, All)
	}
	return all
}

func TestAutomata_Hostile_AreBoundedOrRefused(t *testing.T) {
	a := NewArena(200_000)
	a.left = 1 << 24
	all := hostile(a)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
	r := steadytest.Rand(t)
	const memory = 4 << 20
	follows := map[string]int{ // how many bytes some must not fail for, whichever they are
		"far from the end": 400, "has far from the end": 400, "nested counts": 800, "not nested counts": 800, "all letters": 800, "has all letters": 800,
		"square": 50, "not square": 50, "not many words": 800, "has many words": 800, "not words of equal length": 800,
	}
	for name, x := range all {
		m := NewAutomata(a, memory)
		s, err := m.Start(x, JSONString)
		n := 0
		for ; n < 800 && s != Dead && err == nil; n++ {
			var next State
			if next, err = m.Next(s, "ab"[r.IntN(2)]); err == nil {
				s = next
			}
		}
		if err != nil && !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		if n < follows[name] {
			t.Errorf("%s: %d bytes were followed, want %d: %v", name, n, follows[name], err)
		}
		if m.Size() > memory+memory/4 {
			t.Errorf("%s: %d bytes are taken, of %d", name, m.Size(), memory)
		}
		if _, err := m.Shortest(s); err != nil && !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
			t.Errorf("%s: the shortest rest: %v", name, err)
		}
		for plain := range plains {
			m.Room(s, plain)
		}
	}
}

func TestArena_Bounds_AreErrors(t *testing.T) {
	few := NewArena(10)
	if x := few.Text("0123456789abcdef"); x != Nothing || !errors.Is(few.Err(), ErrTooMuch) {
		t.Errorf("more expressions than the bound are %d, %v", x, few.Err())
	}
	short := NewArena(1000)
	if err := short.Bounded(10, func() { short.Text("a longer text") }); !errors.Is(err, ErrTooMuch) || short.Err() != nil {
		t.Errorf("more steps than the bound: %v, and of the arena %v", err, short.Err())
	}
	before := short.left
	if err := short.Bounded(1000, func() { short.Text("a longer text") }); err != nil || short.left >= before {
		t.Errorf("what is bounded counts: %v, %d steps are left of %d", err, short.left, before)
	}
	for short.err == nil {
		short.Or(short.Text("0123456789"), All)
	}
	if !errors.Is(short.Err(), ErrTooMuch) {
		t.Errorf("an arena that was worked on without end: %v", short.Err())
	}
	a := NewArena(10_000)
	lengths := []Expr{a.Repeat(Char, 1, Unbounded)}
	for _, n := range []int{7, 11, 13, 17, 19, 23} {
		lengths = append(lengths, a.Repeat(a.Repeat(a.Class(Range{'a', 'b'}), n, n), 0, Unbounded))
	}
	hard := a.And(lengths...)
	if _, err := a.IsVoid(hard, 1000); !errors.Is(err, ErrTooMuch) {
		t.Errorf("IsVoid took more than 1000 states: %v", err)
	}
	if a.Err() != nil {
		t.Errorf("what one operation could not find out is the arena's error: %v", a.Err())
	}
	m := NewAutomata(a, 1<<20)
	if _, err := m.Start(hard, UTF8); !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
		t.Errorf("Start: %v", err)
	}
	if _, err := m.Start(a.Text("later"), UTF8); err == nil {
		t.Error("an expression that was made after the table has a state")
	}
}
