// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/penstock/penstock/host/serving"
)

// kernelsOf asks a Penstock server which kernels compute: they depend on the CPU, and the figures
// depend on them.
func kernelsOf(ctx context.Context, url string) (string, error) {
	var props struct {
		Kernels *serving.Kernels `json:"kernels"`
	}
	if err := getJSON(ctx, url+"/props", &props); err != nil {
		return "", err
	}
	if props.Kernels == nil {
		return "", fmt.Errorf("%s/props says nothing of kernels", url)
	}
	return props.Kernels.String(), nil
}

// getJSON reads what a server says at a URL.
func getJSON(ctx context.Context, url string, to any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if err := json.NewDecoder(response.Body).Decode(to); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}
