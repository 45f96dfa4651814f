// Package config is the environment as one validated struct.
//
// [Load] reads every setting at once and reports all problems together, each
// naming the variable, its value and what is accepted. It fails towards refusing:
// a value that cannot be read never becomes zero, a default or "unlimited", it
// stops the process (G7). Three rules hold for every variable:
//
//   - Empty equals not set, so that a compose file may pass on what it does not
//     have. ADJOURN_METRICS_ADDR alone gives emptiness a meaning: no metrics.
//   - White space around a value, or inside a list, is refused and not trimmed:
//     what an operator sees in a file is what takes effect.
//   - A name under one of our prefixes that is no setting is refused, with the
//     nearest name, because a setting that silently does nothing is worse than
//     none. Its value is not shown: it may be a mistyped secret.
//
// The struct tags "envconfig", "default" and "desc" are those of
// kelseyhightower/envconfig, and types that read themselves are its Decoders.
// Its own reader stops at the first problem, fails on an empty variable and takes
// 0x10 and 1_000 for numbers, so the reading is done here; a test holds the two
// equal where they agree. Four tags are ours: "min" and "max" bound a value,
// "oneof" lists what is accepted, "accepts" says it in words.
package config
