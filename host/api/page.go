// SPDX-License-Identifier: MIT

package api

import (
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// pagePolicy is the Content Security Policy of the page, the only one. It needs nothing but its
// own files and its own host; text that a model writes is never a reason to load something from
// elsewhere. A blob: is a picture or a sound that a person has added: only the page's own script
// can make one. Nothing is shown by a data: URL, which a text could have.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageRoute takes what no other route does.
const pageRoute = "/*"

// page serves the UI's files.
func (s *service) page(c echo.Context) error {
	if !ServePage(c.Response(), c.Request(), s.UI, s.OwnUI) {
		return absent(c)
	}
	return nil
}

// ServePage sends the file of a page that the request's path names, and reports whether there is
// one. Files under assets/ have a hash in their names and may be kept forever. The operator's own
// files (own) may be anything, in folders too, and say themselves what they need.
func ServePage(w http.ResponseWriter, r *http.Request, files fs.FS, own bool) bool {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || own && strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	info, err := fs.Stat(files, name)
	if err == nil && info.IsDir() && own {
		toFolder(w, r)
		return true
	}
	if err != nil || info.IsDir() {
		return false
	}
	if own {
		w.Header().Set(echo.HeaderCacheControl, "no-cache")
	} else {
		setPageHeaders(w.Header(), name)
	}
	if path.Base(name) == "index.html" {
		return serveFile(w, files, name)
	}
	http.ServeFileFS(w, r, files, name)
	return true
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

// serveFile sends a page as it is; http.ServeFileFS would redirect index.html to its folder.
func serveFile(w http.ResponseWriter, files fs.FS, name string) bool {
	file, err := files.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	w.Header().Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	_, _ = io.Copy(w, file) // a client that has gone needs no answer
	return true
}
