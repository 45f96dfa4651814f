package quota_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

// TestPolicyTreatment: unknown and exempt flows are never throttled, whatever the
// settings (A47, A57, G6); governed ones are observed until enforced (A52).
func TestPolicyTreatment(t *testing.T) {
	t.Parallel()
	policy := quota.Policy{
		Ceiling:     0,
		Flows:       map[string]bool{"invoice": true, "status": false, "both": true},
		ExemptFlows: []string{"ack", "both"},
	}
	require.Equal(t, quota.Enforce, policy.Treatment("invoice"))
	require.Equal(t, quota.Observe, policy.Treatment("status"))
	require.Equal(t, quota.Exempt, policy.Treatment("ack"))
	require.Equal(t, quota.Exempt, policy.Treatment("zzz"), "unknown")
	require.Equal(t, quota.Exempt, policy.Treatment(""), "unknown")
	require.Equal(t, quota.Exempt, policy.Treatment("both"), "exempt on purpose wins")

	require.True(t, policy.Known("invoice"))
	require.True(t, policy.Known("status"))
	require.True(t, policy.Known("ack"))
	require.False(t, policy.Known("zzz"))

	require.Equal(t, []string{"invoice", "status"}, policy.Governed())
	require.Equal(t, []string{"invoice"}, policy.Enforced())
}

// TestPolicyZeroValueThrottlesNothing: the platform ships dark (A50, G11).
func TestPolicyZeroValueThrottlesNothing(t *testing.T) {
	t.Parallel()
	var policy quota.Policy
	require.Equal(t, quota.Exempt, policy.Treatment("invoice"))
	require.False(t, policy.Known("invoice"))
	require.Empty(t, policy.Governed())
	require.Empty(t, policy.Enforced())
}
