// SPDX-License-Identifier: MIT

package tck

import (
	"errors"
	"fmt"
	"sync"
)

// neighbours is how many streams run beside a guest: on all of eight slots but one.
const neighbours = 7

// Neighbours lets seven neighbours ask for their answers over and over, until stop is called: that waits for the answers still
// asked for, one of each neighbour at least, and tells whose were not what they are on a host by itself. ask gives the answer of
// neighbour n.
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

// repeat asks, until done, and compares. It asks once whatever happens: how soon its goroutine runs is a matter of the machine.
func repeat(n int, want string, ask func(n int) (string, error), done <-chan struct{}) error {
	for {
		switch text, err := ask(n); {
		case err != nil:
			return fmt.Errorf("%w: neighbour %d: %w", ErrBroken, n, err)
		case text != want:
			return fmt.Errorf("%w: neighbour %d has %q; undisturbed it has %q", ErrBroken, n, text, want)
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}
