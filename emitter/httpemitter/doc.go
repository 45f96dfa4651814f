// Package httpemitter makes one attempt over HTTP/1.1: one POST for each Emit.
//
// Who is authoritative. The third party counts requests, so the connection is:
// an attempt counts as sent from the moment its first byte is handed to the
// kernel, as seen by the connection itself. It is never guessed from the type of
// an error.
//
//	waiting ──► bound to one connection ──► sent ──► answered
//	   │                  │                   │
//	   └──── unsent ◄─────┘                   └──► uncertain
//
// # Decisions
//
//   - One connection for each Emit, and only once. net/http repeats a request
//     that carries an Idempotency-Key when a kept connection dies under it, which
//     would be a second attempt without a slot. The request therefore gives it no
//     means to rewind, an attempt that asks for a second connection is ended, and
//     a second connection refuses its bytes.
//   - HTTP/2 is off. There a frame writer shared by all requests of a connection
//     decides when bytes leave, and the client may repeat a request on another
//     connection (REFUSED_STREAM, GOAWAY); neither could be held to SendBy.
//   - SendBy is checked by the connection in the very write that would carry the
//     first byte, so that a process that was frozen since the last check sends
//     nothing. It is checked on the monotonic and on the wall clock, because the
//     former stands still while a machine is suspended; a wall clock set forward
//     only stops one attempt. What is left are the instructions between that look
//     at the clock and the system call, and the way to the third party: the
//     window's guard covers the latter.
//   - Redirects are not followed (a 307 would send again): the work is rejected
//     with the status, and the URL is to be corrected.
//   - A status decides as soon as it is known. A 2xx whose body breaks off or never
//     ends is emitted: the third party has accepted. Only a 2xx that came before
//     the whole payload was sent, and kept it from being sent, is uncertain.
//   - 408 and 425 are uncertain rather than rejected: RFC 9110 and RFC 8470 define
//     them as "not processed, try again". 503 is a limit only with a Retry-After
//     that can be understood; else it is a 5xx like any other.
//   - A proxy named by HTTP_PROXY, HTTPS_PROXY and NO_PROXY is used, as users
//     expect, and is chosen once, in New. Bytes for an http URL count as sent when
//     the proxy has them; a CONNECT or a TLS handshake is not an attempt.
//   - Kept connections are dropped after [Options.IdleTimeout], before most
//     servers drop them: a request that meets a closing connection is uncertain
//     and costs a slot.
//   - Answers are not decompressed, so that a small answer cannot become a large
//     one.
package httpemitter
