// SPDX-License-Identifier: MIT

package jinja

import "math"

var listMethods = map[string]method{
	"index": indexOf, "count": countOf,
	"append": func(r *run, of Value, a *Args) Value {
		r.grow(of.(*List), a.one(r))
		return nil
	},
	"extend": func(r *run, of Value, a *Args) Value {
		r.grow(of.(*List), r.items(a.one(r))...)
		return nil
	},
	"insert": func(r *run, of Value, a *Args) Value {
		var at, v Value
		a.take(r, 2, nil, &at, &v)
		l, i := of.(*List), r.intArg(at)
		if i < 0 {
			i = max(i+len(l.Items), 0)
		}
		i = min(i, len(l.Items))
		r.grow(l, nil)
		r.step(len(l.Items) / 64)
		copy(l.Items[i+1:], l.Items[i:])
		l.Items[i] = v
		return nil
	},
	"pop": func(r *run, of Value, a *Args) Value {
		var at Value = -1
		a.take(r, 0, nil, &at)
		l := of.(*List)
		if len(l.Items) == 0 {
			r.fail("pop from empty list")
		}
		i := r.intArg(at)
		if i < 0 {
			i += len(l.Items)
		}
		if i < 0 || i >= len(l.Items) {
			r.fail("pop index out of range")
		}
		v := l.Items[i]
		r.step(len(l.Items) / 64)
		l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
		return v
	},
	"remove": func(r *run, of Value, a *Args) Value {
		l, v := of.(*List), a.one(r)
		for i, item := range l.Items {
			if r.equal(item, v) {
				l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
				return nil
			}
		}
		r.fail("list.remove(x): x not in list")
		return nil
	},
	"clear": func(r *run, of Value, a *Args) Value {
		a.none(r)
		of.(*List).Items = nil
		return nil
	},
	"copy": func(r *run, of Value, a *Args) Value {
		a.none(r)
		return &List{r.items(of)}
	},
	"reverse": func(r *run, of Value, a *Args) Value {
		a.none(r)
		r.step(len(of.(*List).Items))
		reverse(of.(*List).Items)
		return nil
	},
	"sort": func(r *run, of Value, a *Args) Value {
		var key, back Value = nil, false
		a.take(r, 0, []string{"key", "reverse"}, &key, &back)
		l := of.(*List)
		l.Items = r.sorted(l.Items, func(v Value) Value {
			if key == nil {
				return v
			}
			return r.call(key, &Args{Plain: []Value{v}})
		}, r.truth(back))
		return nil
	},
}

// grow puts values at the end of a list.
func (r *run) grow(l *List, values ...Value) {
	r.charge(32 * len(values))
	l.Items = append(l.Items, values...)
}

var tupleMethods = map[string]method{"index": indexOf, "count": countOf}

func indexOf(r *run, of Value, a *Args) Value {
	var v, start, stop Value = nil, 0, math.MaxInt
	a.take(r, 1, nil, &v, &start, &stop)
	items := r.items(of)
	from, to := r.intArg(start), r.intArg(stop)
	if from < 0 {
		from = max(from+len(items), 0)
	}
	if to < 0 {
		to += len(items)
	}
	for i := from; i < min(to, len(items)); i++ {
		if r.equal(items[i], v) {
			return i
		}
	}
	if typeName(of) == "tuple" {
		r.fail("tuple.index(x): x not in tuple")
	}
	r.fail("%s is not in list", r.repr(v))
	return nil
}

func countOf(r *run, of Value, a *Args) Value {
	v, n := a.one(r), 0
	for _, item := range r.items(of) {
		if r.equal(item, v) {
			n++
		}
	}
	return n
}

func view(what string) method {
	return func(r *run, of Value, a *Args) Value {
		a.none(r)
		return &View{of.(*Dict), what}
	}
}

var dictMethods = map[string]method{
	"keys": view("keys"), "values": view("values"), "items": view("items"),
	"get": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value
		a.take(r, 1, nil, &key, &otherwise)
		if v, ok := of.(*Dict).get(r, key); ok {
			return v
		}
		return otherwise
	},
	"copy": func(r *run, of Value, a *Args) Value {
		a.none(r)
		return of.(*Dict).copy(r)
	},
	"update": func(r *run, of Value, a *Args) Value {
		r.update(of.(*Dict), a)
		return nil
	},
	"setdefault": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value
		a.take(r, 1, nil, &key, &otherwise)
		d := of.(*Dict)
		if v, ok := d.get(r, key); ok {
			return v
		}
		r.set(d, key, otherwise)
		return otherwise
	},
	"pop": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value = nil, missing
		a.take(r, 1, nil, &key, &otherwise)
		if v, ok := of.(*Dict).pop(r, key); ok {
			return v
		}
		if otherwise == missing {
			r.fail("%s", r.repr(key))
		}
		return otherwise
	},
	"popitem": func(r *run, of Value, a *Args) Value {
		a.none(r)
		d := of.(*Dict)
		if len(d.entries) == 0 {
			r.fail("'popitem(): dictionary is empty'")
		}
		e := d.entries[len(d.entries)-1]
		d.pop(r, e.key)
		return &Tuple{items: []Value{e.key, e.value}}
	},
	"clear": func(r *run, of Value, a *Args) Value {
		a.none(r)
		*of.(*Dict) = Dict{}
		return nil
	},
}

// update puts into a dict what dict() takes.
func (r *run) update(d *Dict, a *Args) {
	if len(a.Plain) > 1 {
		r.fail("%s expected at most 1 argument, got %d", a.callee, len(a.Plain))
	}
	if len(a.Plain) == 1 {
		if from, ok := a.Plain[0].(*Dict); ok {
			for _, e := range from.entries {
				r.charge(64)
				d.put(e.hash, e.key, e.value)
			}
		} else {
			for _, pair := range r.items(a.Plain[0]) {
				kv := r.unpack(pair, 2)
				r.set(d, kv[0], kv[1])
			}
		}
	}
	for _, e := range a.Named {
		r.set(d, e.name, e.value)
	}
}

var floatMethods = map[string]method{
	"is_integer": func(r *run, of Value, a *Args) Value {
		a.none(r)
		f := of.(float64)
		return f == math.Trunc(f) && !math.IsInf(f, 0)
	},
}

var cyclerMethods = map[string]method{
	"next": func(r *run, of Value, a *Args) Value {
		a.none(r)
		c := of.(*Cycler)
		v := c.items[c.at]
		c.at = (c.at + 1) % len(c.items)
		return v
	},
	"reset": func(r *run, of Value, a *Args) Value {
		a.none(r)
		of.(*Cycler).at = 0
		return nil
	},
}
