// Package roomtest holds what the tests of the rooms' checks share: a store
// with files as other programs or a crash left them, and the comparison of
// what a check says.
package roomtest
