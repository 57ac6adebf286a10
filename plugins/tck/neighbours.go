// SPDX-License-Identifier: MIT

package tck

import (
	"errors"
	"fmt"
	"sync"
)

// neighbours is how many streams run beside a guest: on all of eight slots but one.
const neighbours = 7

// Neighbours lets seven neighbours ask for their answers over and over, until stop is called: that tells whose answers were
// not what they are on a host by itself, or who got none meanwhile. ask gives the answer of neighbour n.
func Neighbours(ask func(n int) (string, error)) (stop func() error, _ error) {
	var undisturbed [neighbours]string
	for n := range undisturbed {
		var err error
		if undisturbed[n], err = ask(n); err != nil {
			return nil, err
		}
		if undisturbed[n] == "" {
			return nil, fmt.Errorf("neighbour %d got no text", n)
		}
	}
	var group sync.WaitGroup
	var errs [neighbours]error
	done := make(chan struct{})
	for n := range undisturbed {
		group.Go(func() { errs[n] = repeat(n, undisturbed[n], ask, done) })
	}
	return func() error {
		close(done)
		group.Wait()
		return errors.Join(errs[:]...)
	}, nil
}

// repeat asks until done, and compares.
func repeat(n int, want string, ask func(n int) (string, error), done <-chan struct{}) error {
	for answers := 0; ; answers++ {
		select {
		case <-done:
			if answers == 0 {
				return fmt.Errorf("%w: neighbour %d got no answer meanwhile", ErrBroken, n)
			}
			return nil
		default:
		}
		switch text, err := ask(n); {
		case err != nil:
			return fmt.Errorf("%w: neighbour %d: %w", ErrBroken, n, err)
		case text != want:
			return fmt.Errorf("%w: neighbour %d has %q; undisturbed it has %q", ErrBroken, n, text, want)
		}
	}
}
