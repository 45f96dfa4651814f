package config_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/config"
)

// Whatever is written, the ceiling of an enforced flow is the number an operator
// reads there, or the process does not start (G7).
func FuzzCeiling(f *testing.F) {
	for _, text := range []string{
		"", "0", "-1", "1000", "1e3", "1_000", " 100\n", "2.5", "2147483648", "0x10", "007", "+5", "-0", "١٠", "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		loaded, err := config.LoadFrom([]string{"QUOTA_ENFORCE=invoice:true", "QUOTA_HOURLY_CEILING=" + text})
		if err != nil {
			require.Equal(t, config.Ceiling{}, loaded.Quota.Ceiling)
			require.Contains(t, err.Error(), "QUOTA_HOURLY_CEILING")
			require.Equal(t, 1, strings.Count(err.Error(), "\n"), "one line each, whatever the value")
			return
		}
		require.True(t, loaded.Quota.Ceiling.Set)
		require.Equal(t, text, strconv.FormatInt(int64(loaded.Quota.Ceiling.Limit), 10))
	})
}

// Whatever is written, each flow read was written, once, under an accepted name
// and with a value that says what it became; or the process does not start.
func FuzzFlows(f *testing.F) {
	for _, text := range []string{
		"", "a:true", "a:true,b:0", "a:true,a:false", "a", "a:", ":true", ",", "a:yes", "A:true", "a:true,", " a:true",
		"a:true:b:true", "a\n:true", strings.Repeat("x", 64) + ":t", strings.Repeat("x", 65) + ":t", "a\x00:1", "é:1",
	} {
		f.Add(text)
	}
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)
	f.Fuzz(func(t *testing.T, text string) {
		loaded, err := config.LoadFrom([]string{"QUOTA_ENFORCE=" + text, "QUOTA_HOURLY_CEILING=1"})
		if err != nil {
			require.Empty(t, loaded.Quota.Enforce, "nothing is half read")
			require.Contains(t, err.Error(), "QUOTA_ENFORCE")
			require.Equal(t, 1, strings.Count(err.Error(), "\n"), "one line each, whatever the value")
			return
		}
		if text == "" {
			require.Empty(t, loaded.Quota.Enforce)
			return
		}
		items := strings.Split(text, ",")
		require.Len(t, loaded.Quota.Enforce, len(items))
		for _, item := range items {
			flow, value, _ := strings.Cut(item, ":")
			require.Regexp(t, name, flow)
			want, err := strconv.ParseBool(value)
			require.NoError(t, err)
			require.Equal(t, want, loaded.Quota.Enforce[flow])
		}
	})
}
