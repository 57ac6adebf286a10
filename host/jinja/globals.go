// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// globals are the functions that every template has.
var globals map[string]Value

func init() { // dict() calls what may call globals
	globals = map[string]Value{}
	for n, call := range map[string]func(r *run, a *Args) Value{
		"range": rangeFunction,
		"dict": func(r *run, a *Args) Value {
			d := NewDict(0)
			r.update(d, a)
			return d
		},
		"namespace": func(r *run, a *Args) Value {
			d := NewDict(0)
			r.update(d, a)
			return &Namespace{d}
		},
		"cycler": func(r *run, a *Args) Value {
			if len(a.Plain) == 0 {
				r.fail("at least one item has to be provided")
			}
			return &Cycler{items: a.Plain}
		},
		"joiner": func(r *run, a *Args) Value {
			j := &Joiner{sep: ", "}
			a.take(r, 0, []string{"sep"}, &j.sep)
			return j
		},
		"raise_exception": func(r *run, a *Args) Value {
			var message Value
			a.take(r, 1, []string{"message"}, &message)
			panic(&failure{line: r.line, reason: r.text(message), kind: Raised})
		},
		"strftime_now": func(r *run, a *Args) Value {
			var pattern Value
			a.take(r, 1, []string{"format"}, &pattern)
			return r.strftime(r.textArg(pattern, "strftime() argument 1"), r.now())
		},
	} {
		globals[n] = &Function{name: n, call: call}
	}
}

// maxRange is the most numbers that a range may have, which is the sandbox's.
const maxRange = 100_000

func rangeFunction(r *run, a *Args) Value {
	if len(a.Plain) == 0 {
		r.fail("range expected at least 1 argument, got 0")
	}
	var start, stop, step Value = 0, nil, 1
	if len(a.Plain) == 1 {
		a.take(r, 1, nil, &stop)
	} else {
		a.take(r, 2, nil, &start, &stop, &step)
	}
	bound := func(v Value) int {
		if i, ok := number(v).(*big.Int); ok {
			return i.Sign() * (1 << 62)
		}
		return r.intArg(v)
	}
	g := &Range{bound(start), bound(stop), bound(step)}
	if g.step == 0 {
		r.fail("range() arg 3 must not be zero")
	}
	if g.len() > maxRange || g.len() < 0 {
		r.exceed("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return g
}

// strftimeLayouts are the directives that Go's layouts have.
var strftimeLayouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'h': "Jan", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006", 'H': "15", 'I': "03", 'M': "04",
	'S': "05", 'p': "PM", 'j': "002", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'D': "01/02/06", 'F': "2006-01-02", 'T': "15:04:05",
	'R': "15:04", 'r': "03:04:05 PM",
}

// strftime writes a time as Python does in the C locale, for a time without a zone.
func (r *run) strftime(pattern string, t time.Time) string {
	var b builder
	for {
		at := strings.IndexByte(pattern, '%')
		if at < 0 || at+1 == len(pattern) {
			b.add(r, pattern)
			return b.String()
		}
		b.add(r, pattern[:at])
		c := pattern[at+1]
		r.step(10)
		pattern = pattern[at+2:]
		unpadded := false
		if c == '-' && pattern != "" {
			unpadded, c, pattern = true, pattern[0], pattern[1:]
		}
		s := directive(c, t)
		if unpadded {
			s = strings.TrimLeft(s, "0 ")
			if s == "" {
				s = "0"
			}
		}
		b.add(r, s)
	}
}

func directive(c byte, t time.Time) string {
	if layout, ok := strftimeLayouts[c]; ok {
		return t.Format(layout)
	}
	two := func(n int) string { return format("%02d", n) }
	switch c {
	case 'f':
		return format("%06d", t.Nanosecond()/1000)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'C':
		return two(t.Year() / 100)
	case 'k':
		return format("%2d", t.Hour())
	case 'l':
		return format("%2d", (t.Hour()+11)%12+1)
	case 'U':
		return two((t.YearDay() + 6 - int(t.Weekday())) / 7)
	case 'W':
		return two((t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7)
	case 'V', 'G', 'g':
		year, week := t.ISOWeek()
		switch c {
		case 'V':
			return two(week)
		case 'G':
			return strconv.Itoa(year)
		}
		return two(year % 100)
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'P':
		return strings.ToLower(t.Format("PM"))
	case 'z', 'Z':
		return "" // datetime.now() has none
	case '%':
		return "%"
	}
	return "%" + string(c)
}
