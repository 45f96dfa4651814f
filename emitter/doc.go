// Package emitter is the contract between Adjourn and the technology that
// carries a work to the third party: one message in, one outcome out, exactly
// one attempt in between.
//
// Who is authoritative. The third party counts attempts, so what matters here
// is not whether the call succeeded but whether the third party may have seen
// it. Every [Outcome] therefore answers two questions: what became of the work,
// and whether the slot behind the attempt is spent ([Outcome.Spent]).
//
//	the call                                        outcome     slot
//	2xx                                             emitted     spent
//	429, or 503 with Retry-After                    limited     spent
//	refused, DNS or TLS failure, nothing sent       unsent      kept
//	time-out, reset or 5xx after sending            uncertain   spent
//	408 or 425: the third party did not take it in  uncertain   spent
//	any other 4xx, 3xx or 1xx answer                rejected    spent
//	a message the technology cannot express         rejected    spent
//
// An implementation never retries, never follows a redirect and never sends a
// byte after [Message.SendBy]: each of these would be an attempt without a slot.
package emitter
