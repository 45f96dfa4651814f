// Bench measures Adjourn beside its peers: every figure is taken in one run on one
// machine, and what counts are the ratios. `make bench` runs it from the root.
package main
