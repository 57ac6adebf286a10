// SPDX-License-Identifier: MIT

package sampling

import "context"

type saltKey struct{}

// WithSalt is a context of work for a caller. What is kept of the work is used again only for
// callers with the same salt: a fast answer would reveal what others have sent.
func WithSalt(ctx context.Context, salt string) context.Context {
	return context.WithValue(ctx, saltKey{}, salt)
}

// SaltOf is the salt of a context. False: it has none, and nothing is kept of the work.
func SaltOf(ctx context.Context) (salt string, has bool) {
	salt, has = ctx.Value(saltKey{}).(string)
	return salt, has
}
