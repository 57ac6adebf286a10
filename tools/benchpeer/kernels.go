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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/props", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var props struct {
		Kernels *serving.Kernels `json:"kernels"`
	}
	if err := json.NewDecoder(response.Body).Decode(&props); err != nil {
		return "", fmt.Errorf("%s/props: %w", url, err)
	}
	if props.Kernels == nil {
		return "", fmt.Errorf("%s/props says nothing of kernels", url)
	}
	return props.Kernels.String(), nil
}
