// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/receipt"
	"github.com/spf13/cobra"
)

func newReceipt() *cobra.Command {
	return group("receipt", "Signed statements of how answers came about", newReceiptKey(), newReceiptVerify())
}

func newReceiptKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key that signs receipts",
		Long: `Make a key that signs receipts, in a new file that only its owner may read, and print its id.

A server signs with it if receipts.key_file names it. To replace a key, append the old file to the
new one: the server then publishes both, and signs with the first.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return makeReceiptKey(cmd.OutOrStdout(), args[0]) },
	}
}

func makeReceiptKey(out io.Writer, path string) (err error) {
	key, err := receipt.NewKey()
	if err != nil {
		return err
	}
	text, err := key.PEM()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, key.ID())
	return err
}

// receiptKeys are those that KEY names: the address of a server, of a JWK set, or a file. The
// second result is a signing key, where the file has one.
func receiptKeys(ctx context.Context, from string) (receipt.Keys, *receipt.Key, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, nil, err
		}
		keys, err := receipt.ParseKeys(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", from, err)
		}
		private, err := receipt.ReadKey(from)
		if err != nil {
			private = nil // the keys are public ones
		}
		return keys, private, nil
	}
	if !strings.HasSuffix(from, receipt.Path) {
		from = strings.TrimSuffix(from, "/") + receipt.Path
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, usageError{err}
	}
	client := http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > 3 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("it redirects too often, or from https to http")
		}
		return nil
	}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("get the keys: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, excerpt.Of(strings.TrimSpace(string(text)), 400))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get the keys of %s: %w", from, err)
	}
	keys, err := receipt.ParseKeys(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil, err
}
