// SPDX-License-Identifier: MIT

package api

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// pagePolicy is the Content Security Policy of the page, the only one. It needs nothing but its own files and its own host; text that a
// model writes is never a reason to load something from elsewhere.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageRoute takes what no other route does.
const pageRoute = "/*"

// page serves the UI's files. Those under assets/ have a hash in their names and may be kept for ever. Files of the operator's own may be
// anything, in folders too, and say themselves what they need.
func (s *service) page(c echo.Context) error {
	name := strings.TrimPrefix(c.Request().URL.Path, "/")
	if name == "" || s.OwnUI && strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	info, err := fs.Stat(s.UI, name)
	if err == nil && info.IsDir() && s.OwnUI {
		toFolder(c.Response(), c.Request())
		return nil
	}
	if err != nil || info.IsDir() {
		return absent(c)
	}
	if s.OwnUI {
		c.Response().Header().Set(echo.HeaderCacheControl, "no-cache")
	} else {
		setPageHeaders(c.Response().Header(), name)
	}
	if path.Base(name) == "index.html" {
		return serveFile(c, s.UI, name)
	}
	http.ServeFileFS(c.Response(), c.Request(), s.UI, name)
	return nil
}

func setPageHeaders(h http.Header, name string) {
	h.Set(echo.HeaderCacheControl, "no-cache")
	if strings.HasPrefix(name, "assets/") {
		h.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	h.Set(echo.HeaderContentSecurityPolicy, pagePolicy)
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// serveFile sends a file as it is; http.ServeFileFS would redirect index.html to its folder.
func serveFile(c echo.Context, files fs.FS, name string) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	return c.HTMLBlob(http.StatusOK, data)
}
