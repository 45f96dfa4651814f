// Package fileemitter emits works as files: one file for each work, in a directory
// that the third party reads.
//
//	<directory>/<stream>/<number, twelve digits><ending of the content type>
//
// The attempt is the file's appearance under its name: it is written and made
// durable under a temporary name first, then linked, so that a reader never sees
// half of one, and never over another.
//
//	the call                                        outcome     slot
//	linked, and made durable                        emitted     spent
//	exists already with the same bytes: a repeat    emitted     spent
//	exists already with other bytes                 rejected    spent
//	stream or number that no file can be named for  rejected    spent
//	disk full, no permission, cancelled, too late   unsent      kept
//	linked, but the directory could not be synced   uncertain   spent
//
// # Decisions
//
//   - Link rather than rename: rename overwrites, link refuses. A number is never
//     reused, so other bytes under the same name are a fault that a person must
//     see. File systems without hard links are refused by New.
//   - Whether it is too late is looked at right before linking; what is left are the
//     instructions in between.
//   - Files stay inside the directory whatever a stream is called: its name is held
//     to the register's pattern, and os.Root keeps symbolic links from leading out.
//   - A process that dies in between leaves a file whose name begins with a dot and
//     ends in ".tmp". It is never taken for a work, and New removes those that are
//     more than a day old.
//   - The endings are a fixed list, because the system's own differs by machine and
//     a work must have one name everywhere.
package fileemitter
