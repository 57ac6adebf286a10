// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// Route is one route of a dialect.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
	Body         any  // the zero value of what a body of JSON, or a form, is decoded into; nil: the route takes none
	Admin        bool // it changes what all clients share: where there are keys, it is for the admin's
	OwnKey       bool // the handler asks for a key itself where a WebSocket comes without one, which then has no caller
}

// TakesForm reports whether the body is a form with a file instead of JSON: its zero value has a
// File.
func (r Route) TakesForm() bool {
	return slices.ContainsFunc(Fields(r.Body), func(f Field) bool { return f.Type == fileType })
}

const (
	callerKey = "caller"
	sentKey   = "sent"
)

// SetCaller notes who sends a request.
func SetCaller(c echo.Context, from completion.Caller) { c.Set(callerKey, from) }

// NoteSent has what is sent be noted, for receipts.
func NoteSent(c echo.Context) { c.Set(sentKey, completion.Sent{}) }

// CallerOf is who sends a request, with what was received of it.
func CallerOf(c echo.Context) completion.Caller {
	from, _ := c.Get(callerKey).(completion.Caller)
	from.Sent, _ = c.Get(sentKey).(completion.Sent)
	return from
}

// HasCaller reports whether it is known who sends a request.
func HasCaller(c echo.Context) bool { return c.Get(callerKey) != nil }

// Field is a field that the bodies of a route may have.
type Field struct {
	Name    string
	Type    string // as JSON has it: text, number, integer, true or false, list, object, file; "": several
	Range   string // of a number that has one range on all routes: 0 to 1
	Refused bool   // where it asks for something
	LeftOut bool   // likewise: it is accepted and ignored, and the client is told so
}

// Fields lists the fields of a body by the struct that it is decoded into. A field with the tag
// api:"refused" or api:"left out" is known, and refused or left out; the tags min and max are its
// range.
func Fields(body any) []Field {
	if body == nil {
		return nil
	}
	return fieldsOf(reflect.TypeOf(body))
}

// fieldsOf lists a struct's own fields, and those of embedded structs that it does not have itself.
func fieldsOf(t reflect.Type) (fields []Field) {
	own := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		own[name] = true
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, slices.DeleteFunc(fieldsOf(f.Type), func(f Field) bool { return own[f.Name] })...)
		case name != "" && name != "-":
			fields = append(fields, Field{name, typeOf(f.Type), rangeOf(f.Tag), f.Tag.Get("api") == "refused", f.Tag.Get("api") == "left out"})
		}
	}
	return fields
}

func rangeOf(tag reflect.StructTag) string {
	if tag.Get("min") == "" {
		return ""
	}
	return tag.Get("min") + " to " + tag.Get("max")
}

// typeOf says what a field's Go type takes, in JSON's words.
func typeOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[File]() {
		return fileType
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return "" // it reads what it is given itself
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "integer"
}
