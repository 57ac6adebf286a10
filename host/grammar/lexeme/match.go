// SPDX-License-Identifier: MIT

package lexeme

// stepsPerCharacter is how much work a character of a text may take.
const stepsPerCharacter = 200_000

// Match reports whether text is one of x's. What it does counts as work of making the arena.
func (a *Arena) Match(x Expr, text string) (bool, error) {
	for _, r := range text {
		var err error
		if x, err = a.by(x, r); err != nil {
			return false, err
		}
		if x == Nothing {
			return false, nil
		}
	}
	return a.Nullable(x), nil
}

// by is what may follow character r in x's texts. A surrogate is no character.
func (a *Arena) by(x Expr, r rune) (Expr, error) {
	if r < 0 || r > maxRune || r >= firstSurrogate && r <= lastSurrogate {
		return Nothing, nil
	}
	var d derivative
	err := a.Bounded(stepsPerCharacter, func() {
		a.spend(1)
		d = a.derive(x)
	})
	if err != nil {
		return Nothing, err
	}
	return d.by(r), nil
}

// Nullable reports whether the empty text is one of x's.
func (a *Arena) Nullable(x Expr) bool { return a.at(x).nullable }

// Lengths are bounds of how many characters x's texts have. They may not be the narrowest. high is
// Unbounded where there is none.
func (a *Arena) Lengths(x Expr) (low, high int) {
	n := a.at(x)
	if n.most >= far {
		return int(n.least), Unbounded
	}
	return int(n.least), int(n.most)
}
