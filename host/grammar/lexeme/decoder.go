// SPDX-License-Identifier: MIT

package lexeme

// Decoder is how bytes spell the characters of an expression.
type Decoder uint8

// The decoders.
const (
	UTF8       Decoder = iota // as they are
	JSONString                // within a JSON string's quotes: escapes are the characters that they mean, control characters must be escaped; the quotes are not part of it

	decoders
)
