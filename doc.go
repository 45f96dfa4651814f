// Package adjourn holds no code: it is the map of the project.
//
// Where to look for a rule:
//
//	the reservation, in one statement    quota/postgres/reserve.sql
//	what a window is                     quota/window.go
//	the deadline order                   work/order.go, work/postgres/choose.sql
//	the override rule                    work/closing.go, work/postgres/override.go
//	a pass, step by step                 workflows/dispatch.go
//	time-outs and retries                workflows/options.go
//	what an attempt's outcome does       emitter/doc.go, work/doc.go
//	the schema                           migrations/
//	which way each edge fails            docs/failure-directions.md
//
// Dependencies point one way; architecture_test.go holds the table.
package adjourn
