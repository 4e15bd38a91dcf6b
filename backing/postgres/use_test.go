package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"ctxfs/backing/postgres/pgtest"
)

func TestAStoreThatAHostFollowsIsNotHadAlone(t *testing.T) {
	url := pgtest.Schema(t)
	host := openStore(t, url, Options{})
	if s, err := Open(context.Background(), url, Options{Alone: true}); err != nil {
		t.Fatalf("a host that does not follow the store is in the way: %v", err)
	} else {
		must(t, s.Close())
	}
	_, err := host.Watch(t.Context(), "")
	must(t, err)
	if _, err := Open(context.Background(), url, Options{Alone: true}); !errors.Is(err, ErrInUse) {
		t.Errorf("beside a host that follows the store it says %v", err)
	}
	other := openStore(t, pgtest.Schema(t), Options{Alone: true})
	must(t, other.Close())

	must(t, host.Close())
	alone := openStore(t, url, Options{Alone: true})
	if _, err := Open(context.Background(), url, Options{Alone: true}); !errors.Is(err, ErrInUse) {
		t.Errorf("two have it alone: %v", err)
	}
	must(t, alone.Close())
	must(t, openStore(t, url, Options{Alone: true}).Close())
}

func TestAServerThatIsOutOfReachAtFirstIsFollowed(t *testing.T) {
	proxy := pgtest.NewProxy(t)
	s := closing(t, openStore(t, proxy.Through(t, pgtest.Schema(t)), Options{}))
	proxy.Refuse(true)
	time.AfterFunc(100*time.Millisecond, func() { proxy.Refuse(false) })
	_, err := s.Watch(t.Context(), "")
	must(t, err)
}
