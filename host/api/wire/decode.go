// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
)

// Decode reads a JSON object into v. Fields that v does not have are ignored, as OpenAI's clients
// send many; a wrong type is an error that names the field. See checkText for what is refused
// besides.
func Decode(body []byte, v any) error {
	if err := checkText(body); err != nil {
		return err
	}
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	err := integer.Unmarshal(body, v)
	switch {
	case err == nil && strings.TrimSpace(string(body)) == "null":
		return Malformed("the request body is null; it must be a JSON object")
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return Malformed(fmt.Sprintf("the request body is not valid JSON at byte %d: %v", syntax.Offset, err))
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return Malformed("the request body must be a JSON object, not " + withArticle(wrongType.Value))
	case errors.As(err, &wrongType):
		field := plainPath(wrongType.Field)
		e := refusal.Invalid(field, "%s is %s; it must be %s", field, withArticle(wrongType.Value), expected(wrongType))
		e.Code = "invalid_type"
		return e
	}
	return Malformed("the request body could not be read: " + err.Error())
}

// Malformed refuses a body that cannot be read.
func Malformed(message string) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindInvalid, Code: "invalid_json", Message: message}
}

// withArticle is a kind of JSON value, as encoding/json names it, in a sentence.
func withArticle(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// plainPath drops the embedded Go structs from a path: their names have capitals, those of JSON
// fields have none.
func plainPath(path string) string {
	var fields []string
	for part := range strings.SplitSeq(path, ".") {
		if strings.ToLower(part) == part {
			fields = append(fields, part)
		}
	}
	return strings.Join(fields, ".")
}

// expected says what a field's Go type takes, in JSON's words.
func expected(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer (in " + kind + "'s range)"
	case strings.HasPrefix(kind, "float"):
		return "a number (in " + kind + "'s range)"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a text"
	case kind == "slice":
		return "a list"
	}
	return "an object"
}
