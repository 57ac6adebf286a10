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

// Reference says what to download: a file of a repository on a hub, or a URL.
type Reference struct {
	Repository string   // OWNER/NAME; empty for a URL
	Revision   string   // branch, tag or commit
	File       string   // path within the repository; empty: chosen by Quant
	Quant      string   // such as Q4_K_M; empty: the usual order
	URL        *url.URL // nil for a repository
}

const mainRevision = "main"

// Names on the hub: letters, digits and _, with single dots and dashes in between.
var (
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*/[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$`)
	quantName      = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

// hubHosts are the hosts of the hub whose addresses people paste: they mean the repository,
// whatever mirror serves it.
var hubHosts = map[string]bool{"huggingface.co": true, "www.huggingface.co": true, "hf.co": true}

// Parse reads OWNER/NAME[@REVISION][:QUANT], the same after hf:// or hf.co/,
// hf://OWNER/NAME[@REVISION]/FILE.gguf, the address of a page of the hub, or the URL of a .gguf
// file.
func Parse(text string) (Reference, error) {
	rest, isHub := strings.CutPrefix(text, "hf://")
	for _, host := range []string{"hf.co/", "huggingface.co/"} {
		if after, found := strings.CutPrefix(rest, host); found {
			rest, isHub = after, true
		}
	}
	if !isHub && (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")) {
		return parseURL(text)
	}
	if scheme, _, found := strings.Cut(rest, "://"); found {
		return Reference{}, wrongReference(text, fmt.Sprintf("%s:// is not supported", scheme))
	}
	return parseRepository(text, rest)
}

func parseURL(text string) (Reference, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Reference{}, wrongReference(text, "the URL cannot be read")
	}
	if hubHosts[u.Host] {
		return parsePage(text, u)
	}
	if u.User != nil {
		return Reference{}, wrongReference(u.Redacted(), "a URL must not carry a password: it would be stored in the note beside the model")
	}
	if !strings.HasSuffix(u.Path, ".gguf") {
		return Reference{}, wrongReference(text, "the path of a URL must end in .gguf")
	}
	return Reference{URL: u}, nil
}

// parsePage reads what a browser shows: /OWNER/NAME, or /OWNER/NAME/blob/REVISION/FILE, also with
// resolve, tree or raw.
func parsePage(text string, u *url.URL) (Reference, error) {
	parts := strings.SplitN(strings.Trim(u.Path, "/"), "/", 5)
	if len(parts) < 4 || (parts[2] != "blob" && parts[2] != "resolve" && parts[2] != "tree" && parts[2] != "raw") {
		return parseRepository(text, strings.Trim(u.Path, "/"))
	}
	r := Reference{Repository: parts[0] + "/" + parts[1], Revision: parts[3]}
	if len(parts) == 5 && parts[2] != "tree" {
		r.File = parts[4]
	}
	return r, r.check(text)
}

func parseRepository(text, rest string) (Reference, error) {
	r := Reference{Revision: mainRevision}
	if before, file, found := cutFile(rest); found {
		rest, r.File = before, file
	} else if before, quant, found := strings.Cut(rest, ":"); found {
		if rest, r.Quant = before, quant; quant == "" {
			return Reference{}, wrongReference(text, "after the colon comes a quantisation such as Q4_K_M")
		}
	}
	if before, revision, found := strings.Cut(rest, "@"); found {
		rest, r.Revision = before, revision
	}
	r.Repository = rest
	return r, r.check(text)
}

// cutFile cuts OWNER/NAME/FILE.gguf behind NAME.
func cutFile(text string) (repository, file string, found bool) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) < 3 {
		return text, "", false
	}
	return parts[0] + "/" + parts[1], parts[2], true
}

func (r Reference) check(text string) error {
	switch {
	case !repositoryName.MatchString(r.Repository) || len(r.Repository) > 256:
		return wrongReference(text, "it must be OWNER/NAME, hf://OWNER/NAME/FILE.gguf or the URL of a .gguf file")
	case r.Revision == "" || strings.ContainsAny(r.Revision, "?#\\") || strings.Contains(r.Revision, ".."):
		return wrongReference(text, "after the @ comes a branch, a tag or a commit")
	case r.Quant != "" && !quantName.MatchString(r.Quant):
		return wrongReference(text, "a quantisation has letters, digits, dots, dashes and underscores, such as Q4_K_M")
	case r.File != "" && !strings.HasSuffix(r.File, ".gguf"):
		return wrongReference(text, "a file's name must end in .gguf")
	case strings.Contains("/"+r.File+"/", "/../") || strings.ContainsAny(r.File, "\\\x00"):
		return wrongReference(text, "a file's path must stay in the repository")
	}
	return nil
}

func wrongReference(text, why string) error { return fmt.Errorf("%w: %q: %s", ErrReference, text, why) }

// String is the reference as Parse reads it.
func (r Reference) String() string {
	if r.URL != nil {
		return r.URL.String()
	}
	text := "hf://" + r.Repository
	if r.Revision != mainRevision {
		text += "@" + r.Revision
	}
	if r.File != "" {
		return text + "/" + r.File
	}
	if r.Quant != "" {
		text += ":" + r.Quant
	}
	return text
}

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
