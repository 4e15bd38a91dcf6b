package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// env makes a getenv of pairs.
func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestStorePathTakesTheFirstThatIsSet(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(home, "bare")
	write(t, filepath.Join(home, defaultConfig), `{"contextStore": {"path": "~/configured"}}`)
	other := write(t, filepath.Join(home, "etc/other.json"), `{"contextStore": {"path": "relative"}, "more": 1}`)
	empty := write(t, filepath.Join(home, "empty.json"), `{}`)
	live := []mount{{Point: home + "/live", Type: fstype, Source: home + "/behind"}}
	for _, c := range []struct {
		name, flag string
		env        map[string]string
		want       string
	}{
		{"the flag before all", home + "/flag", map[string]string{"HOME": home, "SFA_CONTEXT_STORE": home + "/env"}, home + "/flag"},
		{"the environment before the configuration", "", map[string]string{"HOME": home, "SFA_CONTEXT_STORE": home + "/env"}, home + "/env"},
		{"a tilde in the environment", "", map[string]string{"HOME": home, "SFA_CONTEXT_STORE": "~/env"}, home + "/env"},
		{"the configuration before the default", "", map[string]string{"HOME": home}, home + "/configured"},
		{"the configuration that SFA_CONFIG names", "", map[string]string{"HOME": home, "SFA_CONFIG": other}, home + "/etc/relative"},
		{"the default where the configuration is silent", "", map[string]string{"HOME": home, "SFA_CONFIG": empty}, home + "/" + defaultStore},
		{"the default where there is no configuration", "", map[string]string{"HOME": bare}, bare + "/" + defaultStore},
		{"the store behind a mount in the environment", "", map[string]string{"SFA_CONTEXT_STORE": home + "/live"}, home + "/behind"},
		{"the store behind a mount in the flag", home + "/live/", nil, home + "/behind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := storePath(c.flag, env(c.env), live)
			if err != nil || got.Name != c.want || got.Remote() {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestADatabaseIsNamedWithoutItsPassword(t *testing.T) {
	home := t.TempDir()
	url := "postgresql://alice:secret@db.example:5432/notes?sslpassword=secret&sslmode=require&password=secret"
	const name = "postgres://alice@db.example:5432/notes?sslmode=require"
	config := write(t, filepath.Join(home, "config.json"), `{"contextStore": {"path": "`+url+`"}}`)
	live := []mount{{Point: home + "/live", Type: fstype, Source: name}}
	for _, c := range []struct {
		flag string
		env  map[string]string
		url  string
	}{
		{url, map[string]string{"HOME": home}, url},
		{"", map[string]string{"HOME": home, "SFA_CONTEXT_STORE": url}, url},
		{"", map[string]string{"HOME": home, "SFA_CONFIG": config}, url},
		{home + "/live", map[string]string{"HOME": home}, name},
	} {
		got, err := storePath(c.flag, env(c.env), live)
		if err != nil || got.Name != name || got.URL() != c.url || !got.Remote() {
			t.Errorf("%+v: got %q with %q, %v", c, got.Name, got.URL(), err)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", got, got, got, got); strings.Contains(text, "secret") {
			t.Errorf("it prints as %s", text)
		}
	}
}

func TestStorePathFollowsLinksOfADirectoryThatIsStillToBeMade(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := storePath(filepath.Join(dir, "link/a/b"), env(nil), nil)
	if want := filepath.Join(dir, "a/b"); err != nil || got.Name != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestStorePathSaysWhatIsWrong(t *testing.T) {
	home := t.TempDir()
	broken := write(t, filepath.Join(home, "broken.json"), `{"contextStore": 7}`)
	live := []mount{{Point: home + "/live", Type: fstype, Source: home + "/behind"}}
	for _, c := range []struct {
		name, flag string
		env        map[string]string
		want       string
	}{
		{"nothing to go by", "", nil, "without $HOME"},
		{"a configuration that is named and missing", "", map[string]string{"HOME": home, "SFA_CONFIG": home + "/none"}, "no such file"},
		{"a configuration that is no configuration", "", map[string]string{"HOME": home, "SFA_CONFIG": broken}, "broken.json"},
		{"a database that it does not know", "mysql://u:secret@h/d", map[string]string{"HOME": home}, "nothing is known of mysql://"},
		{"a URL that cannot be read", "postgres://u:sec ret@[h/d", map[string]string{"HOME": home}, "cannot be read"},
		{"a database without a place on this host", "postgres://u:secret@h/d", nil, "neither $XDG_STATE_HOME nor $HOME"},
		{"a directory inside a mount", home + "/live/alice", nil, "inside the ctxfs mount"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := storePath(c.flag, env(c.env), live)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "sec") {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}
