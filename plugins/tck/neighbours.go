// SPDX-License-Identifier: MIT

package tck

import (
	"errors"
	"fmt"
	"sync"
)

// neighbours is the number of streams beside a guest: they take seven of eight slots.
const neighbours = 7

// Neighbours makes seven neighbours request their answers over and over until stop is called. stop
// waits for the last answers, at least one for each neighbour, and reports the neighbours whose
// answers differ from what they were before. ask requests the answer of neighbour n.
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

// repeat asks, until done, and compares. It asks once whatever happens: how soon its goroutine
// runs is a matter of the machine.
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
