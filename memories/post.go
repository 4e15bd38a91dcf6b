package memories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// KeyHeader is the request header that carries an entry's id, the same in
// every attempt.
const KeyHeader = "Idempotency-Key"

// request is the body of a POST to the backend, see the package's
// documentation.
type request struct {
	MemoryID       string          `json:"memoryId"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Entry          json.RawMessage `json:"entry"`
	Context        json.RawMessage `json:"context"`
	// For the memory service of reference/3.
	RawEntry       json.RawMessage `json:"rawEntry"`
	Summary        json.RawMessage `json:"summary,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	Tags           json.RawMessage `json:"tags,omitempty"`
	ExpirationTime json.RawMessage `json:"expirationTime,omitempty"`
}

// requestBody is what the backend gets for a stored line, and its key.
func requestBody(memory string, line []byte) (body []byte, key string, err error) {
	entry, snapshot, id, err := split(line)
	if err != nil {
		return nil, "", err
	}
	r := request{MemoryID: memory, IdempotencyKey: id, Entry: entry, Context: snapshot}
	err = walk(entry, func(name string, value json.RawMessage, _ int64) error {
		switch name {
		case "rawEntry":
			r.RawEntry = value
		case "text":
			if r.RawEntry == nil && value[0] == '"' {
				r.RawEntry = value
			}
		case "summary":
			r.Summary = value
		case "metadata":
			r.Metadata = value
		case "tags":
			r.Tags = value
		case "expirationTime":
			r.ExpirationTime = value
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if r.RawEntry == nil {
		r.RawEntry = jsonString(string(entry))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(r)
	return b.Bytes(), id, err
}

// urlTemplate is the backend's URL with {vault} and {memory} in it.
type urlTemplate string

func parseTemplate(s string) (urlTemplate, error) {
	t := urlTemplate(s)
	u, err := url.Parse(t.of("vault", "memory"))
	if err != nil {
		return "", fmt.Errorf("the backend's URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("the backend's URL %q does not begin with http:// or https:// and a host", u.Redacted())
	}
	return t, nil
}

func (t urlTemplate) of(vault, memory string) string {
	return strings.NewReplacer("{vault}", url.PathEscape(vault), "{memory}", url.PathEscape(memory)).Replace(string(t))
}

// redacted is the template without a password.
func (t urlTemplate) redacted() string {
	scheme, rest, _ := strings.Cut(string(t), "://")
	host, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if slash {
		host += "/" + path
	}
	return scheme + "://" + host
}

// newClient follows no redirect: what answers elsewhere has not taken the
// entry, and the URL can be mended.
func newClient(o Options) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxRequests
	return &http.Client{Transport: transport, Timeout: o.BackendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// refusedError: the backend will never take this entry.
type refusedError struct {
	Status int // of HTTP; 0 where it was not asked
	Reason string
}

func (e *refusedError) Error() string { return e.Reason }

// busyError: the backend may take it later.
type busyError struct {
	Reason string
	After  time.Duration // what Retry-After asked for
}

func (e *busyError) Error() string { return e.Reason }

// maxReply is how much of a reply is read, in bytes.
const maxReply = 64 << 10

// post sends body once. nil: the backend has it (2xx, or 409: had it already).
// *refusedError for any other 4xx but those that say "later".
func (o *outbox) post(ctx context.Context, memory, key string, body []byte) error {
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url.of(o.s.o.Vault, memory), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	for name, values := range o.s.o.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(KeyHeader, key)
	resp, err := o.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	return judge(resp, reply, err)
}

// withoutURL drops the URL from err, which may hold a password.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// judge says what a response means. The status counts even where the rest of
// the reply could not be read: readErr.
func judge(resp *http.Response, reply []byte, readErr error) error {
	code := resp.StatusCode
	reason := "the backend answered " + resp.Status
	if text := strings.TrimSpace(string(reply)); text != "" {
		reason += ": " + firstLine(text)
	}
	switch {
	case code >= 200 && code < 300, code == http.StatusConflict:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
	case code >= 400 && code < 500:
		return &refusedError{code, reason}
	}
	if readErr != nil {
		reason += " (and broke off: " + readErr.Error() + ")"
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 1<<20 {
		seconds = 0
	}
	return &busyError{reason, time.Duration(seconds) * time.Second}
}

// firstLine is at most 200 bytes of the first line of text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return strings.ToValidUTF8(line, "")
}
