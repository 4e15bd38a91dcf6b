package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"ctxfs/access"
	"ctxfs/entries"
	"ctxfs/fusefs"
	"ctxfs/housekeeping"
	"ctxfs/room"
)

// procsPerCore is GOMAXPROCS of a daemon for each core. Reads of /dev/fuse and
// syncs that wait hold one each, so that saves beside one another gain by more
// than one a core: eight at once take 0.9 s where they took 1.2 s.
const procsPerCore = 2

// serve mounts in this process and returns when the mount has ended.
func serve(f mountFlags, mountpoint string) error {
	r := newReadiness(f.readyFD, os.Getenv)
	log, err := newLogger(f, r.pipe != nil)
	if err != nil {
		return r.failed(err)
	}
	all, err := mounts()
	if err != nil {
		return r.failed(err)
	}
	store, err := storePath(f.store, os.Getenv, all)
	if err != nil {
		return r.failed(err)
	}
	if err := prepareMountpoint(mountpoint, store, r.say); err != nil {
		return r.failed(err)
	}
	if os.Getenv("GOGC") == "" {
		paceCollector()
	}
	m, err := open(f, store, mountpoint, log)
	if err != nil {
		return r.failed(err)
	}
	// Not before the mount: go-fuse reads requests in as many threads as there
	// are processors then. The kernel wakes them in turn, and with more of them
	// than cores each request finds a cold one: rg takes a third longer.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(procsPerCore * runtime.GOMAXPROCS(0))
	}
	// A daemon must not hold the directory in which it was started.
	if err := os.Chdir("/"); err != nil {
		return errors.Join(r.failed(err), m.end())
	}
	log.Info("mounted", "mountpoint", mountpoint, "store", store.Name, "version", version)
	if err := r.ready(fmt.Sprintf("mounted %s at %s", store, mountpoint)); err != nil {
		log.Error("tell that the mount serves", "err", err)
	}
	conn := connectionAt(mountpoint, log)
	endWatchdog, err := startWatchdog(conn, mountpoint)
	if err != nil {
		log.Error("nobody will end the connection if this daemon is killed", "err", err)
		endWatchdog = func() {}
	}
	stop := untilSignalled(m.fs, mountpoint, conn, log)
	m.fs.Wait()
	stop()
	endWatchdog()
	err = m.close()
	log.Info("unmounted", "mountpoint", mountpoint, "err", err)
	return err
}

// mounted is a mount with the parts it is made of.
type mounted struct {
	fs    *fusefs.FS
	root  io.Closer
	found io.Closer
	rooms *roomSet
	store io.Closer
}

// open puts the parts together: the store, its rooms, the mount.
func open(f mountFlags, at access.Location, mountpoint string, log *slog.Logger) (*mounted, error) {
	kernel, err := checkKernelOptions(f.options)
	if err != nil {
		return nil, err
	}
	store, dir, err := access.Open(context.Background(), at, log)
	if err != nil {
		return nil, err
	}
	journal := room.NewJournal(store)
	if err := journal.Err(); err != nil {
		log.Error("the journal of refusals begins empty", "err", err)
	}
	root, err := entries.New(store, entries.Options{Strict: f.strict, Log: log, Journal: journal})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	rooms, err := openRooms(f.rooms, store, journal, log, os.Getenv)
	if err != nil {
		return nil, errors.Join(err, root.Close(), store.Close())
	}
	found, err := openSearching(dir, store.ReadOnly(), root, log)
	if err != nil {
		return nil, errors.Join(err, rooms.close(), root.Close(), store.Close())
	}
	keeper := &housekeeping.Keeper{Store: store, Entries: root, Results: rooms.results}
	fs, err := fusefs.Mount(fusefs.Options{
		Mountpoint: mountpoint,
		StoreName:  at.Name,
		AllowOther: f.allowOther,
		Kernel:     kernel,
		Debug:      f.debug,
		Agent:      f.agent,
		Root:       root,
		Rooms:      rooms.byName(),
		Journal:    journal,
		Store:      store,
		Log:        log,
		Version:    version,
		README:     readme,
		Views:      found.views(),
		Control:    found.control(),
		Work:       map[string]fusefs.Work{housekeeping.ControlFile: keeper.Serve},
		Status: func() map[string]any {
			s := rooms.status()
			s["strict"], s["agent"] = f.strict, f.agent
			return s
		},
	})
	if err != nil {
		return nil, errors.Join(mountFailed(err), found.Close(), rooms.close(), root.Close(), store.Close())
	}
	found.mount.Store(fs)
	return &mounted{fs, root, found, rooms, store}, nil
}

// close ends the parts after the mount has ended.
func (m *mounted) close() error {
	return errors.Join(m.found.Close(), m.rooms.close(), m.root.Close(), m.store.Close())
}

// end unmounts and closes.
func (m *mounted) end() error { return errors.Join(m.fs.Detach(), m.close()) }

// untilSignalled unmounts fs, which serves conn, at the first SIGTERM or SIGINT,
// lazily where files are open, and exits at the second. The function it returns
// ends that.
func untilSignalled(fs *fusefs.FS, mountpoint string, conn int, log *slog.Logger) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	// A daemon whose terminal or log reader is gone goes on.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for first := true; ; first = false {
			select {
			case <-done:
				return
			case s := <-signals:
				if !first {
					log.Error("ended by a second signal, with files open", "signal", s)
					os.Exit(exitFailure)
				}
				log.Info("ends at a signal", "signal", s)
				if connectionAt(mountpoint, log) == conn {
					unmountOrDetach(fs, log)
				}
				fs.Leave()
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// connectionAt is the number of the connection at mountpoint, 0 for none: a
// mount that umount(8) took away may have been followed by another one.
func connectionAt(mountpoint string, log *slog.Logger) int {
	all, err := mounts()
	if err != nil {
		log.Error("look for the mount", "err", err)
	}
	m, _ := mountAt(all, mountpoint)
	return m.Conn
}

func unmountOrDetach(fs *fusefs.FS, log *slog.Logger) {
	err := fs.Unmount()
	if err == nil {
		return
	}
	log.Info("cannot unmount yet; it ends when the files are closed, or at a second signal", "err", err)
	if err := fs.Detach(); err != nil {
		log.Error("detach", "err", err)
	}
}

// newLogger logs to standard error, which is the log file in a daemon, or to
// --log where that is asked for in the foreground.
func newLogger(f mountFlags, daemon bool) (*slog.Logger, error) {
	level := slog.LevelInfo
	if f.debug {
		level = slog.LevelDebug
	}
	out := os.Stderr
	if f.log != "" && !daemon {
		path, err := filepath.Abs(f.log)
		if err != nil {
			return nil, fmt.Errorf("find the log: %w", err)
		}
		if out, err = openLog(path); err != nil {
			return nil, err
		}
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), nil
}
