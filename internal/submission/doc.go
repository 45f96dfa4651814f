// Package submission reads works from text, one JSON object a line, and hands
// them to the register in batches.
//
//	{"flow":"invoice","deadline":"2026-12-01T10:00:00Z","payload":{"invoice":"F-1"}}
//	{"flow":"invoice","deadline_in":"2h","payload_file":"invoice.xml"}
//
// A line is all or nothing, and a bad one stops no other: it is refused with its
// number and the reason. Input is hostile until checked: lines and files are
// bounded, and a payload_file cannot leave the directory it is looked up in.
package submission
