// SPDX-License-Identifier: MIT

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// entry is a file of a repository as the hub lists it.
type entry struct {
	Type string `json:"type"` // file or directory
	Path string `json:"path"`
	Size int64  `json:"size"`
	LFS  *struct {
		OID  string `json:"oid"` // SHA-256
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// Bounds of a listing, so that a server that lies cannot fill the memory.
const (
	mostPages     = 100
	mostPageBytes = 32 << 20
)

// list asks the hub for the files of a repository.
func (c Client) list(ctx context.Context, r Reference) (entries []entry, err error) {
	next := fmt.Sprintf("%s/api/models/%s/tree/%s?recursive=1", c.Endpoint, r.Repository, url.PathEscape(r.Revision))
	for range mostPages {
		var page []entry
		err := c.retry(ctx, r.Repository, func() (int64, error) {
			page, next, err = c.listPage(ctx, next)
			return 0, err
		})
		if err != nil {
			return nil, err
		}
		entries = append(entries, page...)
		if next == "" {
			return entries, nil
		}
	}
	return nil, fmt.Errorf("%w: the list of files does not end", ErrServer)
}

// listPage returns one page of a listing and the URL of the next, which is the same again if it
// failed.
func (c Client) listPage(ctx context.Context, page string) (entries []entry, next string, err error) {
	r, err := c.get(ctx, page, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, page, err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, mostPageBytes+1))
	if err != nil {
		return nil, page, unreachable(ctx, err)
	}
	if len(data) > mostPageBytes || json.Unmarshal(data, &entries) != nil {
		return nil, page, permanent(fmt.Errorf("%w: %s does not answer with a list of files; is models.hub a hub?", ErrServer, r.Request.URL.Redacted()))
	}
	return entries, c.nextPage(r.Header, page), nil
}

var nextLink = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="?next"?`)

// nextPage is the URL of the Link header, if it is the hub's own.
func (c Client) nextPage(h http.Header, page string) string {
	m := nextLink.FindStringSubmatch(h.Get("Link"))
	if m == nil {
		return ""
	}
	base, err := url.Parse(page)
	if err != nil {
		return ""
	}
	next, err := base.Parse(m[1])
	if err != nil || next.Host != base.Host || next.String() == page {
		return ""
	}
	return next.String()
}

// download is a file of a repository that is to be downloaded.
func (c Client) download(r Reference, e entry) File {
	f := File{Name: path.Base(e.Path), Size: e.Size}
	segments := strings.Split(e.Path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	f.URL = fmt.Sprintf("%s/%s/resolve/%s/%s", c.Endpoint, r.Repository, url.PathEscape(r.Revision), strings.Join(segments, "/"))
	if e.LFS != nil && isSHA256(e.LFS.OID) {
		f.SHA256 = strings.ToLower(e.LFS.OID)
		if e.LFS.Size > 0 {
			f.Size = e.LFS.Size
		}
	}
	return f
}
