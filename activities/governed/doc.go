// Package governed is the lane of works that need a slot: its activities admit
// works that were started without one, and emit chunks of admitted works.
//
// Who is authoritative. The register's clock says whether a slot's window is
// still open, in the statement that begins the attempts; nothing here decides
// that a slot may be used, only that it may not.
package governed
