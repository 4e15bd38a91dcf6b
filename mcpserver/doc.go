// Package mcpserver offers the rooms of a store as tools of the Model Context
// Protocol, and its entries as resources, with the official Go SDK. What a tool
// does is in package operations; here are names, schemas and descriptions for a
// model, the text of answers, and the record of calls.
//
// # Calls
//
// Calls run concurrently. Each one reaches the store by [Options.Reach]; calls
// at the same time share what was reached, and the last one closes it. So a
// store that no daemon serves is locked only while a call runs, and several
// servers, commands and a mount that begins later work on it. What lives in
// memory, tool results and session variables, would end with each call: session
// variables are kept on disk then, and results in a store of the server's own
// that ends with it (ownresults.go).
//
// Every call of a tool is recorded in the history of invocations, long texts
// shortened. That it cannot be recorded is logged, and changes no answer.
//
// # Answers
//
// The text of an answer is what was asked for. Contents are cut to a number of
// bytes, lists to a number of items; a second block of text says what was cut
// and how to read on. What goes wrong in a tool is an answer with IsError: its
// text is reason and fix, its structured content the fields of codec.Refusal.
//
// # Resources
//
// ctxfs://entries/<path> is the entry at that path. They are listed in pages,
// in the order of their paths. There are no notifications of changes: the
// store is also changed by others, of whom a server without a mount learns
// nothing.
package mcpserver
