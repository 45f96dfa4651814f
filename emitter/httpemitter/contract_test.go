package httpemitter

import (
	"testing"

	"github.com/adjourn/adjourn/emitter/emittertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	emittertest.Run(t, func(t *testing.T) emittertest.Subject {
		party := newParty(t, nil)
		target := newTarget(t, Options{URL: party.URL, ConnectionsMax: 8})
		return emittertest.Subject{Emitter: target, Arrivals: party.arrivals}
	})
}

func TestContractOverTLS(t *testing.T) {
	t.Parallel()
	emittertest.Run(t, func(t *testing.T) emittertest.Subject {
		party := newTLSParty(t, nil, nil)
		target := newTarget(t, Options{URL: party.URL, TLS: trusting(t, party), ConnectionsMax: 8})
		return emittertest.Subject{Emitter: target, Arrivals: party.arrivals}
	})
}
