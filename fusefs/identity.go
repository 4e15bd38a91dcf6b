package fusefs

import (
	"bytes"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ctxfs/codec"
)

// identities says who a process is by its own account: a label for the
// changelog, no authentication. Labels are kept per process, which its id
// and start time name.
type identities struct {
	fallback string                 // the mount's --agent
	ask      func(pid uint32) label // what its environment says

	mu    sync.Mutex // guards known
	known map[process]label
}

type process struct {
	pid   uint32
	start string // clock ticks since boot, and where the environment lies
}

type label struct{ agent, session string }

// remembered is how many processes are kept. An environment is read once
// more, no harm, when it was forgotten.
const remembered = 4096

func newIdentities(fallback string) *identities {
	return &identities{fallback: fallback, ask: environment, known: map[process]label{}}
}

// of returns the agent and the session of the thread pid of user uid. The
// environment is the one at exec: what a program set later is not seen.
func (s *identities) of(pid, uid uint32) (agent, session string) {
	if pid == 0 {
		return s.orFallback(""), "" // from outside of our pid namespace
	}
	l := s.look(pid, uid)
	return l.agent, l.session
}

// look reads /proc/PID/stat, for which nobody waits; the environment of a
// process in execve can be waited for.
func (s *identities) look(pid, uid uint32) label {
	buf := make([]byte, 1024)
	stat, err := readProc(procPath(pid, "/stat"), buf)
	if err != nil {
		return label{agent: s.orFallback("")}
	}
	comm, start := parseStat(stat)
	key := process{pid, start}
	s.mu.Lock()
	l, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		return l
	}
	late := label{agent: s.orFallback(comm)}
	l = within(late, func() label {
		var l label
		if ownedBy(pid, uid) {
			l = s.ask(pid)
		}
		if l.agent == "" {
			l.agent = late.agent
		}
		s.remember(key, l, true)
		return l
	})
	if l == late {
		s.remember(key, l, false)
	}
	return l
}

// remember keeps what a process is known by. What it says itself is sure, and
// stands also where nobody waited for it any more. What it is taken for without an
// answer stands until that comes, so that a process that never answers is asked
// once: each look that hangs holds a thread.
func (s *identities) remember(key process, l label, sure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[key]; ok && !sure {
		return
	}
	if len(s.known) >= remembered {
		clear(s.known)
	}
	s.known[key] = l
}

// orFallback is the mount's agent, else the program's name.
func (s *identities) orFallback(comm string) string {
	if s.fallback != "" {
		return codec.CleanLabel(s.fallback)
	}
	if name := codec.CleanLabel(comm); name != "" {
		return name
	}
	return "unknown"
}

// ownedBy reports whether the process runs as uid: another user's
// environment is none of ours, even for a daemon that could read it.
func ownedBy(pid, uid uint32) bool {
	var st unix.Stat_t
	return unix.Stat(procPath(pid, ""), &st) == nil && st.Uid == uid
}

// parseStat takes the name, and what tells a program that a process runs from
// any other one, from /proc/PID/stat.
func parseStat(stat []byte) (comm, start string) {
	comm, fields := statFields(stat)
	if len(fields) > statEnvironment {
		start = fields[statStart] + "@" + fields[statEnvironment]
	}
	return comm, start
}

// environment reads the labels from /proc/PID/environ: CTXFS_AGENT, else the
// last name of SFA_CALL_CHAIN; and SFA_SESSION_ID.
func environment(pid uint32) label {
	path := procPath(pid, "/environ")
	env, err := readProc(path, make([]byte, 16<<10))
	if len(env) == 16<<10 {
		env, err = readProc(path, make([]byte, 4<<20))
	}
	if err != nil {
		return label{}
	}
	var l label
	chain := ""
	for v := range bytes.SplitSeq(env, []byte{0}) {
		key, value, _ := bytes.Cut(v, []byte("="))
		switch string(key) {
		case "CTXFS_AGENT":
			l.agent = codec.CleanLabel(string(value))
		case "SFA_CALL_CHAIN":
			chain = string(value)
		case "SFA_SESSION_ID":
			l.session = codec.CleanLabel(string(value))
		}
	}
	if l.agent == "" {
		l.agent = codec.CleanLabel(chain[strings.LastIndexByte(chain, ',')+1:])
	}
	return l
}
