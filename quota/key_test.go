package quota_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/quota"
)

func TestValidateKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "invoice/42", "é", strings.Repeat("k", quota.KeyBytesMax)} {
		require.NoError(t, quota.ValidateKey(key))
	}
	for _, key := range []string{"", strings.Repeat("k", quota.KeyBytesMax+1), "a\x00b", "\xff"} {
		require.ErrorContains(t, quota.ValidateKey(key), "accepted are 1 to 300 bytes of UTF-8")
	}
	require.Less(t, len(quota.ValidateKey(strings.Repeat("k", 1<<20)).Error()), 300, "a huge key is not repeated whole")
}
