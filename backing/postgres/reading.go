package postgres

import "sync"

// reading counts the large bodies that contents are open on, which must stay
// in the database although the store may have replaced them, and the pool
// with them.
type reading struct {
	free func() // ends the pool

	mu     sync.Mutex // guards what follows
	bodies map[id]int
	closed bool // the store is
}

func (r *reading) add(body id) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bodies == nil {
		r.bodies = make(map[id]int)
	}
	r.bodies[body]++
}

func (r *reading) remove(body id) {
	r.mu.Lock()
	r.bodies[body]--
	if r.bodies[body] == 0 {
		delete(r.bodies, body)
	}
	last := r.closed && len(r.bodies) == 0
	r.mu.Unlock()
	if last {
		r.free()
	}
}

func (r *reading) storeClosed() {
	r.mu.Lock()
	r.closed = true
	last := len(r.bodies) == 0
	r.mu.Unlock()
	if last {
		r.free()
	}
}

// all lists the bodies.
func (r *reading) all() []id {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]id, 0, len(r.bodies))
	for body := range r.bodies {
		list = append(list, body)
	}
	return list
}
