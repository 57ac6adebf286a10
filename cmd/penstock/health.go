// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTime is how long a server may take to say that it is ready.
const healthTime = 10 * time.Second

func newHealth() *cobra.Command {
	return &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a running server whether it takes requests",
		Long: `Ask a running server whether it takes requests, as the health check of a container does.

The URL is http://127.0.0.1:8080 unless it is given. The exit code is 0 where the server takes requests, and 1 where it does not.`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := "http://127.0.0.1:8080"
			if len(args) > 0 {
				url = args[0]
			}
			return health(cmd.Context(), cmd.OutOrStdout(), url)
		},
	}
}

func health(ctx context.Context, out io.Writer, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/readyz", nil)
	if err != nil {
		return usageError{err}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no server answers: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s: %s", url, answer.Status, strings.TrimSpace(string(text)))
	}
	_, err = fmt.Fprintln(out, strings.TrimSpace(string(text)))
	return err
}
