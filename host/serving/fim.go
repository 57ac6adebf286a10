// SPDX-License-Identifier: MIT

package serving

// FIM are the tokens for filling in the middle; -1 where the model has none. They stand before the
// text that precedes the gap, before the text that follows it, before what fills it, before the
// name of a repository, and before the name of a file.
type FIM struct{ Prefix, Suffix, Middle, Repository, Separator int32 }

// Missing are the names of the tokens that a model lacks to fill in: of prefix, suffix and middle.
func (f FIM) Missing() (names []string) {
	for _, t := range []struct {
		name  string
		token int32
	}{{"prefix", f.Prefix}, {"suffix", f.Suffix}, {"middle", f.Middle}} {
		if t.token < 0 {
			names = append(names, t.name)
		}
	}
	return names
}
