package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ctxfs/access"
	"ctxfs/codec"
	"ctxfs/operations"
)

// entryURI is what stands before the path of an entry.
const entryURI = "ctxfs://entries/"

// resourcePage is how many entries a page of the list has.
const resourcePage = 100

const markdown = "text/markdown"

func (s *Server) addResources() {
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "entry", Title: "An entry of the store", MIMEType: markdown, URITemplate: entryURI + "{+path}",
		Description: "An entry, a Markdown note with frontmatter, by its path from the store's root, as search_entries gives it. Example: " + entryURI + "alice/20260221T143022-login.md",
	}, s.readResource)
}

// readResource reads a whole entry.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (res *mcp.ReadResourceResult, err error) {
	uri := req.Params.URI
	path, err := pathOf(uri)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	a, err := s.door.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.door.leave()) }()
	text, err := access.ReadAll(ctx, a, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: markdown, Text: strings.ToValidUTF8(string(text), "\uFFFD")}}}, nil
}

func pathOf(uri string) (string, error) {
	escaped, ok := strings.CutPrefix(uri, entryURI)
	if !ok {
		return "", fmt.Errorf("%q does not begin with %s", uri, entryURI)
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return "", err
	}
	return operations.EntryPath(path)
}

// listingEntries answers resources/list: the SDK only knows resources that
// were added to it one by one.
func (s *Server) listingEntries(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		after := ""
		if p, ok := req.GetParams().(*mcp.ListResourcesParams); ok && p != nil && p.Cursor != "" {
			path, err := pathOf(p.Cursor)
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
			}
			after = path
		}
		return s.listResources(ctx, after)
	}
}

func (s *Server) listResources(ctx context.Context, after string) (res *mcp.ListResourcesResult, err error) {
	a, err := s.door.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.door.leave()) }()
	res = &mcp.ListResourcesResult{Resources: []*mcp.Resource{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}
	err = eachEntry(ctx, a, after, func(path string, i access.Info) error {
		if len(res.Resources) == resourcePage {
			res.NextCursor = res.Resources[resourcePage-1].URI
			return errEnough
		}
		res.Resources = append(res.Resources, &mcp.Resource{URI: entryURI + path, Name: path, MIMEType: markdown, Size: i.Size})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return res, nil
}

var errEnough = errors.New("enough")

// eachEntry calls do with the entries whose paths come after after, in order.
func eachEntry(ctx context.Context, a *operations.Actor, after string, do func(path string, i access.Info) error) error {
	agents, err := a.List(ctx, "")
	if err != nil {
		return err
	}
	inOrder(agents)
	for _, agent := range agents {
		if !agent.Dir || codec.Reserved[agent.Name] || agent.Name+"0" <= after { // "0" is what follows "/"
			continue
		}
		if err := eachIn(ctx, a, agent.Name, after, true, do); err != nil {
			return err
		}
	}
	return nil
}

// eachIn is eachEntry for a directory and, where sessions is set, the
// directories in it.
func eachIn(ctx context.Context, a *operations.Actor, dir, after string, sessions bool, do func(string, access.Info) error) error {
	all, err := a.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went meanwhile
	}
	if err != nil {
		return err
	}
	inOrder(all)
	for _, i := range all {
		path := dir + "/" + i.Name
		switch {
		case i.Dir && sessions && path+"0" > after:
			err = eachIn(ctx, a, path, after, false, do)
		case !i.Dir && path > after && i.Size > 0 && codec.IsEntry(i.Name) && codec.CheckEntryName(i.Name) == nil:
			err = do(path, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inOrder sorts names by the paths below them: of directories with the slash.
func inOrder(all []access.Info) {
	name := func(i access.Info) string {
		if i.Dir {
			return i.Name + "/"
		}
		return i.Name
	}
	slices.SortFunc(all, func(x, y access.Info) int { return strings.Compare(name(x), name(y)) })
}
