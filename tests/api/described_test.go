// SPDX-License-Identifier: MIT

package api

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/tools/must"
)

func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc := must.Get(openapi3.NewLoader().LoadFromFile("../../docs/openapi.yaml"))(t)
	must.Do(t, doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()))
	return doc
}

// inOpenAPI writes a route's path as OpenAPI does; "" for the routes that take what no other route
// does.
func inOpenAPI(path string) string {
	switch path {
	case "/*", "/api/*": // the page, and refusals in Ollama's shape
		return ""
	case "/v1/models/*": // names may have slashes
		return "/v1/models/{model}"
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// The file describes every route, and no other.
func TestOpenAPI_HasAllRoutes(t *testing.T) {
	var level slog.LevelVar
	handler := api.New(api.Options{LogLevel: &level, Log: slog.New(slog.DiscardHandler), Folder: struct{ api.Folder }{},
		Clients: api.Clients{Keys: func() access.Keys { return access.NewKeys(nil, "admin", access.Listed{}) }},
		Served:  api.Served{Metrics: http.NotFoundHandler(), UI: fstest.MapFS{}}})
	routes := map[string]bool{}
	for _, r := range handler.(interface{ Routes() []*echo.Route }).Routes() {
		if path := inOpenAPI(r.Path); path != "" && r.Method != echo.RouteNotFound {
			routes[r.Method+" "+path] = true
		}
	}
	described := map[string]bool{}
	for path, item := range openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+path] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(described)), slices.Sorted(maps.Keys(routes))); diff != "" {
		t.Errorf("docs/openapi.yaml (-) and the router (+) differ:\n%s", diff)
	}
}

// The bodies in the file have the fields that the routes read, which are also those of fields.md.
func TestOpenAPI_HasAllFields(t *testing.T) {
	read := map[string][]string{} // by method and path
	for _, d := range append(api.Dialects(), api.Dialect{Routes: api.AdminBodies()}) {
		for _, r := range d.Routes {
			for _, f := range wire.Fields(r.Body) {
				route := r.Method + " " + inOpenAPI(r.Path)
				read[route] = append(read[route], f.Name)
			}
		}
	}
	described := map[string][]string{}
	for path, item := range openAPI(t).Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil {
				continue
			}
			for _, kind := range []string{"application/json", "multipart/form-data"} {
				if content := operation.RequestBody.Value.Content.Get(kind); content != nil {
					described[method+" "+path] = slices.AppendSeq(described[method+" "+path], maps.Keys(content.Schema.Value.Properties))
				}
			}
		}
	}
	for route := range described {
		slices.Sort(read[route])
		if slices.Sort(described[route]); len(described[route]) == 0 && read[route] == nil {
			delete(described, route) // a list, or an object whose fields do not matter
		}
	}
	if diff := cmp.Diff(read, described); diff != "" {
		t.Errorf("the fields that routes read (-) and docs/openapi.yaml (+) differ; run make generate:\n%s", diff)
	}
}
