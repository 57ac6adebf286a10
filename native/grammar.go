// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "fmt"

// GrammarOfSchema writes the grammar of the JSON texts that a JSON schema of at most 256 KiB allows, as far as a grammar can
// express it. ErrInvalid says what of the schema is not understood, and where: as a JSON pointer, #/properties/name.
func GrammarOfSchema(schema string) (string, error) {
	if err := checkJSON("the JSON schema", schema); err != nil {
		return "", err
	}
	cost := newConversionCost()
	if err := cost.add(schema); err != nil {
		return "", err
	}
	var e C.ps_error
	var text C.ps_text
	switch code := C.ps_grammar_of_schema(textPointer(schema), C.size_t(len(schema)), &text, &e); code {
	case C.PS_OK:
	case C.PS_INVALID:
		return "", fmt.Errorf("%w: the JSON schema, %s", ErrInvalid, cost.placed(C.GoString(&e.text[0])))
	default:
		return "", failure(code, &e)
	}
	return takeText(&text), nil
}
