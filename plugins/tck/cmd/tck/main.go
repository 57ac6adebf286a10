// SPDX-License-Identifier: MIT

// Command tck tries the conformance kit of the plugin ABI on a running server, or writes it into a
// folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/penstock/penstock/plugins/tck"
)

// Exit codes, as those of penstock.
const (
	exitDone = iota
	exitFailed
	exitWrongUse
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("tck", flag.ContinueOnError)
	flags.SetOutput(problems)
	host := &tck.Remote{}
	flags.StringVar(&host.URL, "url", "", "the server to try, http://127.0.0.1:8080 for example; it loads plugins and removes them again")
	flags.StringVar(&host.AdminKey, "admin-key", "", "the server's admin key")
	flags.StringVar(&host.Key, "api-key", "", "an API key of the server, if it wants one")
	only := flags.String("only", "", "try or write only the cases whose names begin so")
	dir := flags.String("write", "", "write the modules and cases.json into this folder")
	if err := flags.Parse(args); err != nil {
		return exitWrongUse
	}
	if (host.URL == "") == (*dir == "") || flags.NArg() > 0 {
		fmt.Fprintln(problems, "tck: give either -url, to try a server, or -write, to write the kit into a folder")
		return exitWrongUse
	}
	host.URL = strings.TrimSuffix(host.URL, "/")
	var cases []tck.Case
	for _, c := range tck.Cases() {
		if strings.HasPrefix(c.Name, *only) {
			cases = append(cases, c)
		}
	}
	var err error
	if *dir != "" {
		err = tck.Write(*dir, cases)
	} else {
		err = try(ctx, host, cases, out)
	}
	if err != nil {
		fmt.Fprintln(problems, "tck:", err)
		return exitFailed
	}
	return exitDone
}

var errFound = errors.New("the server does not conform")

// try runs cases while neighbours ask for answers too, and prints a line for each.
func try(ctx context.Context, host *tck.Remote, cases []tck.Case, out io.Writer) error {
	stop, err := tck.Neighbours(func(n int) (string, error) {
		a, err := host.Complete(ctx, tck.Request{Chat: n%2 == 1}, nil)
		return a.Text, err
	})
	if err != nil {
		return err
	}
	broken := 0
	for _, c := range cases {
		switch err := tck.Run(ctx, host, c); {
		case err == nil:
			fmt.Fprintf(out, "ok      %s: %s\n", c.Name, c.Rule)
		case errors.Is(err, tck.ErrBroken):
			broken++
			fmt.Fprintf(out, "BROKEN  %s: %s: %v\n", c.Name, c.Rule, err)
		default:
			return errors.Join(fmt.Errorf("%s: %w", c.Name, err), stop(), host.Clean(context.WithoutCancel(ctx)))
		}
	}
	disturbed := stop()
	if disturbed != nil {
		fmt.Fprintf(out, "BROKEN  neighbours: whoever asks beside a case gets the answer of a host by itself: %v\n", disturbed)
	}
	fmt.Fprintf(out, "%d cases, %d broken\n", len(cases), broken)
	if broken > 0 || disturbed != nil {
		err = errFound
	}
	return errors.Join(err, host.Clean(context.WithoutCancel(ctx)))
}
