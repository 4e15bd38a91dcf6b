// Package apart gives a test binary mounts of its own, which go with its
// processes however they end.
package apart
