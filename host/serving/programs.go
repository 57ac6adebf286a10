// SPDX-License-Identifier: MIT

package serving

// Programs bounds what a program among the plugins of a request may use.
type Programs struct {
	Branches int // at once; 0: as many as usual
	Tokens   int // that it puts into branches; 0: as many as the scheduler lets it
}

// mostUsually is how many branches a program has at most where nobody says.
const mostUsually = 8

// MostBranches is how many branches a program may have at once: each takes a slot, and where
// nobody says, half of them stay for others.
func (i *Info) MostBranches() int {
	if i.Programs.Branches > 0 {
		return min(i.Programs.Branches, i.Slots)
	}
	return max(1, min(mostUsually, i.Slots/2))
}
