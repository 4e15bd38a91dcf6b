package variables

import (
	"fmt"
	"strings"
	"syscall"
)

// Type says what a variable's content is (reference/4, Variable Types).
type Type string

const (
	Text   Type = "text"   // documents, code; also any other bytes
	JSON   Type = "json"   // one JSON value; what does not parse is refused
	Memory Type = "memory" // an agent's memories
	Result Type = "result" // what a sub-agent returned
	Stream Type = "stream" // grows by appends, visible at once
)

// ParseType checks s and returns it as a Type, or a *codec.Refusal with
// EINVAL.
func ParseType(s string) (Type, error) {
	switch t := Type(s); t {
	case Text, JSON, Memory, Result, Stream:
		return t, nil
	}
	return "", refuse(syscall.EINVAL, "", "type", fmt.Sprintf("%.60q is no type of a variable", s),
		"use text, json, memory, result or stream")
}

// typeOfKey is the type of a variable of which nothing else is said.
func typeOfKey(key string) Type {
	if strings.HasSuffix(key, ".json") {
		return JSON
	}
	return Text
}
