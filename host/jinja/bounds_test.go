// SPDX-License-Identifier: MIT

package jinja

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// hostile templates take what they can get: time, memory or stack.
var hostile = map[string]string{
	"long text":          "{{ 'x' * 10 ** 9 }}",
	"long texts":         "{% set x = 'x' * 10 ** 6 %}{% for i in range(100000) %}{{ x }}{% endfor %}",
	"doubled":            "{% set n = namespace(x='xxxxxxxxxxxxxxxx') %}{% for i in range(100) %}{% set n.x = n.x + n.x %}{% endfor %}",
	"doubled list":       "{% set n = namespace(x=[1, 2, 3, 4]) %}{% for i in range(100) %}{% set n.x = n.x + n.x %}{% endfor %}",
	"long list":          "{{ ([1] * 10 ** 9)|length }}",
	"loops":              strings.Repeat("{% for i in range(100000) %}", 5) + "x" + strings.Repeat("{% endfor %}", 5),
	"idle loops":         strings.Repeat("{% for i in range(100000) if false %}{% endfor %}", 500),
	"range":              "{% for i in range(10 ** 9) %}{% endfor %}",
	"power":              "{{ 10 ** (10 ** 6) }}",
	"powers":             "{% set n = namespace(x=3) %}{% for i in range(100000) %}{% set n.x = n.x ** 2 %}{% endfor %}",
	"products":           "{% set n = namespace(x=3 ** 90000) %}{% for i in range(100000) %}{% set _ = n.x * n.x %}{% endfor %}",
	"quotients":          "{% set a = 3 ** 160000 %}{% set b = 3 ** 80000 %}{% for i in range(100000) %}{% set _ = a // b %}{% endfor %}",
	"divided":            "{% set a = 3 ** 160000 %}{% for i in range(100000) %}{% set _ = a / (a + 1) %}{% endfor %}",
	"powers of 2":        "{% for i in range(100000) %}{% set _ = 3 ** 160000 %}{% endfor %}",
	"digits":             "{% set a = 10 ** 4299 %}{% for i in range(100000) %}{% set _ = a ~ '' %}{% endfor %}",
	"many digits":        "{% set a = 2 ** 200000 %}{{ '%x' % a }}{% for i in range(100000) %}{% set _ = '%x' % a %}{% endfor %}",
	"compared ints":      "{% set a = 2 ** 200000 %}{% for i in range(100000) %}{% set _ = a == 1.5 %}{% endfor %}",
	"hashed ints":        "{% set a = 2 ** 200000 %}{% for i in range(100000) %}{% set _ = {a: 1} %}{% endfor %}",
	"recursion":          "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
	"deep recursion":     "{% macro f() %}{{ " + strings.Repeat("(", 60) + "f()" + strings.Repeat(strings.Repeat("+''", 1000)+")", 60) + " }}{% endmacro %}{{ f() }}",
	"recursion of two":   "{% macro f() %}{% call f() %}{% endcall %}{% endmacro %}{{ f() }}",
	"branching":          "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(150) }}",
	"recursive loop":     "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
	"list in itself":     "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
	"list equals itself": "{% set l = [] %}{% set _ = l.append(l) %}{% set k = [] %}{% set _ = k.append(k) %}{{ l == k }}",
	"dict in itself":     "{% set d = {} %}{% set _ = d.update(a=d) %}{{ d|tojson }}",
	"growing list":       "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
	"extended list":      "{% set l = [1] %}{% for x in range(100) %}{% set _ = l.extend(l) %}{% endfor %}",
	"width":              "{{ '%1000000000d' % 1 }}",
	"precision":          "{{ '%.1000000000f' % 1 }}",
	"width by star":      "{{ '%*d' % (10 ** 9, 1) }}",
	"width in braces":    "{{ '{:1000000000}'.format(1) }}",
	"grouped":            "{{ '{:01000000000,}'.format(1) }}",
	"center":             "{{ 'x'.center(10 ** 9) }}",
	"ljust":              "{{ 'x'.ljust(10 ** 9) }}",
	"zfill":              "{{ 'x'.zfill(10 ** 9) }}",
	"tabs":               "{{ '\t'.expandtabs(10 ** 9) }}",
	"indent":             "{{ 'a\nb'|indent(10 ** 9) }}",
	"indent by text":     "{{ ('a\n' * 100000)|indent('x' * 100000) }}",
	"json indent":        "{{ [[1]]|tojson(indent=10 ** 9) }}",
	"join":               "{{ (['x'] * 1000000)|join('x' * 100000) }}",
	"join method":        "{{ ('x' * 100000).join(['x'] * 1000000) }}",
	"replace":            "{{ ('x' * 100000).replace('x', 'x' * 100000) }}",
	"replace nothing":    "{{ ('x' * 100000)|replace('', 'x' * 100000) }}",
	"batch":              "{{ [1]|batch(10 ** 9, 'x')|list }}",
	"slice":              "{{ [1]|slice(10 ** 9)|list }}",
	"escape":             "{% set n = namespace(x='&' * 1000) %}{% for i in range(100000) %}{% set n.x = n.x|forceescape %}{% endfor %}",
	"repr":               "{% set n = namespace(x='\\\\' * 1000) %}{% for i in range(100000) %}{% set n.x = [n.x]|string %}{% endfor %}",
	"split":              "{% set x = 'x ' * 1000000 %}{% for i in range(100000) %}{% set _ = x.split() %}{% endfor %}",
	"reversed":           "{% set x = 'é' * 1000000 %}{% for i in range(100000) %}{% set _ = x[::-1] %}{% endfor %}",
	"characters":         "{% set x = 'é' * 10000000 %}{% for i in range(100000) %}{% set _ = x[9999999] %}{% endfor %}",
	"lengths":            "{% set x = 'é' * 10000000 %}{% for i in range(100000) %}{% set _ = x|length %}{% endfor %}",
	"found":              "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% set _ = 'b' in x %}{% endfor %}",
	"equal":              "{% set x = 'a' * 10000000 %}{% set y = 'a' * 10000000 %}{% for i in range(100000) %}{% set _ = x == y %}{% endfor %}",
	"counted":            "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% set _ = x.count('a') %}{% endfor %}",
	"ends":               "{% set x = 'é' * 10000000 %}{% for i in range(100000) %}{% set _ = x.startswith('b', -1) %}{% endfor %}",
	"stripped":           "{% set x = ' ' * 10000000 %}{% for i in range(100000) %}{% set _ = x.strip() %}{% endfor %}",
	"stripped of many":   "{% set c = 'a' * 1000000 + 'b' %}{% set x = 'b' * 1000000 %}{% for i in range(1000) %}{% set _ = x.strip(c) %}{% endfor %}",
	"asked":              "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% set _ = x is lower %}{% endfor %}",
	"partitioned":        "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{% set _ = x.partition('b') %}{% endfor %}",
	"parsed":             "{% set x = ' ' * 10000000 %}{% for i in range(100000) %}{% set _ = x|int %}{% endfor %}",
	"tags":               "{% set x = '<' * 100000 %}{% for i in range(100000) %}{% set _ = x|striptags %}{% endfor %}",
	"wrapped":            "{% set x = 'a-b ' * 100000 %}{% for i in range(100000) %}{% set _ = x|wordwrap(2) %}{% endfor %}",
	"sorted":             "{% set x = range(100000)|list %}{% for i in range(100000) %}{% set _ = x|sort %}{% endfor %}",
	"unpacked":           "{% set x = [1] * 1000000 %}{% for i in range(100000) %}{% set a, b = x %}{% endfor %}",
	"many arguments":     "{% set x = range(100000)|list %}{% for i in range(100000) %}{% set _ = dict(*x) is defined %}{% endfor %}",
	"popped":             "{% set d = {} %}{% for i in range(100000) %}{% set _ = d.update({i: 1}) %}{% endfor %}{% for i in range(100000) %}{% set _ = d.pop(i) %}{% endfor %}",
	"inserted":           "{% set l = [1] * 1000000 %}{% for i in range(100000) %}{% set _ = l.insert(0, 1) %}{% endfor %}",
	"variables":          "{% macro f() %}{{ kwargs }}{% endmacro %}" + strings.Repeat("{% set x = 1 %}", 10) + "{% for i in range(100000) %}{% for j in range(1000) %}{{ f(**{'a': 1}) }}{% endfor %}{% endfor %}",
	"copies":             "{% set d = dict(" + manyNames(1000) + ") %}{% for i in range(100000) %}{% set _ = d.copy() %}{% endfor %}",
	"named":              "{% macro f() %}{{ kwargs|length }}{% endmacro %}{% set d = {} %}{% for i in range(50000) %}{% set _ = d.update({'a' ~ i: 1}) %}{% endfor %}{{ f(**d) }}{% for i in range(1000) %}{{ f(**d) }}{% endfor %}",
	"strftime":           "{% set x = '%c' * 100000 %}{% for i in range(100000) %}{% set _ = strftime_now(x) %}{% endfor %}",
	"braces":             "{% set x = '{}' * 100000 %}{% set l = [1] * 100000 %}{% for i in range(100000) %}{% set _ = x.format(*l) %}{% endfor %}",
	"tuples of tuples":   "{% set n = namespace(x=(1,)) %}{% for i in range(100) %}{% set n.x = (n.x, n.x) %}{% endfor %}{{ {n.x: 1}|length }}",
	"compared lists":     "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
	"nested json":        "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x|tojson }}",
	"uppercase":          "{% set x = 'é' * 1000000 %}{% for i in range(100000) %}{% set _ = x|upper %}{% endfor %}",
}

func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = format("a%d=1", i)
	}
	return strings.Join(names, ", ")
}

// A hostile template ends in an error, whatever it tries, and soon.
func TestRender_Hostile(t *testing.T) {
	for name, source := range hostile {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(source)
			if err != nil {
				t.Fatal(err)
			}
			p.Limits = Limits{Steps: DefaultLimits.Steps / 40, Bytes: DefaultLimits.Bytes / 16}
			soon, cancel := context.WithTimeout(t.Context(), time.Minute) // a hundred times what it takes
			defer cancel()
			var complaint *Error
			if _, err = p.Render(soon, NewDict(0)); !errors.As(err, &complaint) {
				t.Errorf("got %v, want a complaint", err)
			}
		})
	}
}

// What nests or chains without end is refused when it is read.
func TestParse_Hostile(t *testing.T) {
	for name, source := range map[string]string{
		"brackets":         "{{ " + strings.Repeat("(", 100000) + strings.Repeat(")", 100000) + " }}",
		"lists":            "{{ " + strings.Repeat("[", 100000) + " }}",
		"unary":            "{{ " + strings.Repeat("-", 100000) + "1 }}",
		"nots":             "{{ " + strings.Repeat("not ", 50000) + "1 }}",
		"ifs":              strings.Repeat("{% if 1 %}", 12000) + strings.Repeat("{% endif %}", 12000),
		"ternaries":        "{{ " + strings.Repeat("1 if x else ", 5000) + "1 }}",
		"ifs behind":       "{{ 1" + strings.Repeat(" if x", 5000) + " }}",
		"filters":          "{{ x" + strings.Repeat("|e", 5000) + " }}",
		"members":          "{{ x" + strings.Repeat(".a", 5000) + " }}",
		"items":            "{{ x" + strings.Repeat("[0]", 5000) + " }}",
		"sums":             "{{ 1" + strings.Repeat("+1", 5000) + " }}",
		"ors":              "{{ 1" + strings.Repeat(" or 1", 5000) + " }}",
		"calls":            "{{ x" + strings.Repeat("()", 5000) + " }}",
		"powers":           "{{ 1" + strings.Repeat("**1", 5000) + " }}",
		"long":             strings.Repeat("x", maxSource+1),
		"targets":          "{% for " + strings.Repeat("(", 5000) + "a" + strings.Repeat(")", 5000) + " in x %}{% endfor %}",
		"chain of filters": "{% filter upper" + strings.Repeat("|upper", 5000) + " %}{% endfilter %}",
	} {
		if _, err := Parse(source); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// When nobody waits any more a rendering ends, with the cause.
func TestRender_GivenUp(t *testing.T) {
	p := must.Get(Parse(strings.Repeat("{% for i in range(100000) %}", 5) + strings.Repeat("{% endfor %}", 5)))(t)
	gone := errors.New("the client has gone")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(gone)
	if _, err := p.Render(ctx, NewDict(0)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// Complaints name the line.
func TestError_Line(t *testing.T) {
	for source, line := range map[string]int{
		"\n\n{{ 1 + 'a' }}":                                          3,
		"\n{% if x %}\n{% endfor %}":                                 3,
		"a\n{% for x in [1] %}\n{{ x.y.z }}{% endfor %}":             3,
		"a\n{{ raise_exception('x') }}\n":                            2,
		"{{ 'a\nb' }}\n{% set x = 1 // 0 %}":                         3,
		"{% macro f() %}\n\n{{ 1 + none }}{% endmacro %}\n{{ f() }}": 3,
		"{# a\nb #}{{ x.y.z }}":                                      2,
	} {
		_, err := rendered(t, source, NewDict(0))
		var complaint *Error
		if !errors.As(err, &complaint) || complaint.Line != line {
			t.Errorf("%q: %v, want line %d", source, err, line)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, source := range smallTemplates(f) {
		f.Add(source)
	}
	context := must.Get(os.ReadFile("testdata/context.json"))(f)
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Parse(source)
		if err != nil {
			return
		}
		p.Limits = Limits{Steps: 200_000, Bytes: 8 << 20}
		_, err = p.Render(t.Context(), told(t, context))
		var complaint *Error
		if err != nil && (!errors.As(err, &complaint) || strings.HasPrefix(complaint.Reason, broken)) {
			t.Error(err)
		}
	})
}
