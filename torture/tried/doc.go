// Package tried is the table of what was tried and what held, which
// scripts/torture prints: each package of tests adds its rows to one file.
package tried
