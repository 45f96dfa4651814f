package fileemitter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNewProbes: better to learn at start than at each work that nothing can be
// published.
func TestNewProbes(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Directory: "/proc/self"}) // where nobody can make a file
	require.ErrorContains(t, err, `check Directory "/proc/self": make file`)
}
