// Package emittertest holds what every [emitter.Emitter] must do, as a suite that
// each implementation runs against a third party it can look into, and an
// emitter in memory for tests of what stands above the contract.
//
//	func TestContract(t *testing.T) {
//		emittertest.Run(t, func(t *testing.T) emittertest.Subject { … })
//	}
package emittertest
