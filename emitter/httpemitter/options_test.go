package httpemitter

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefault(t *testing.T) {
	t.Parallel()
	require.Equal(t, Options{
		URL: "http://third.party", TLS: TLSOptions{VersionMin: "1.2"}, ConnectionsMax: 64,
		ConnectTimeout: 5 * time.Second, Timeout: 10 * time.Second, IdleTimeout: 4 * time.Second,
		ResponseBytesMax: 65536, RetryAfterMax: time.Hour,
	}, Options{URL: "http://third.party"}.WithDefaults())
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	missing := filepath.Join(directory, "missing.pem")
	garbage := filepath.Join(directory, "garbage.pem")
	require.NoError(t, os.WriteFile(garbage, []byte("not PEM"), 0o600))
	_, certificate, _ := newClientCertificate(t)
	const fine = "https://third.party"
	for want, options := range map[string]Options{
		"URL is empty":                       {},
		`URL "third.party/works"`:            {URL: "third.party/works"},
		`URL "ftp://third.party"`:            {URL: "ftp://third.party"},
		`URL "https:///works"`:               {URL: "https:///works"},
		`URL "https://:443"`:                 {URL: "https://:443"},
		"URL (withheld) cannot be parsed":    {URL: "https://third party"},
		`use Authorization`:                  {URL: "https://user@third.party"},
		`no fragment`:                        {URL: fine + "#part"},
		"ConnectionsMax -1: accepted":        {URL: fine, ConnectionsMax: -1},
		"ConnectTimeout -1ns: accepted":      {URL: fine, ConnectTimeout: -1},
		"Timeout -1s: accepted":              {URL: fine, Timeout: -time.Second},
		"IdleTimeout -1ns: accepted":         {URL: fine, IdleTimeout: -1},
		"RetryAfterMax -1ns: accepted":       {URL: fine, RetryAfterMax: -1},
		"ResponseBytesMax 100: accepted":     {URL: fine, ResponseBytesMax: 100},
		"Authorization (withheld): accepted": {URL: fine, Authorization: "Bearer a\r\nX: 1"},
		`TLS.VersionMin "1.1": accepted`:     {URL: fine, TLS: TLSOptions{VersionMin: "1.1"}},
		"read TLS.CAFile: open " + missing:   {URL: fine, TLS: TLSOptions{CAFile: missing}},
		`TLS.CAFile "` + garbage:             {URL: fine, TLS: TLSOptions{CAFile: garbage}},
		"accepted are both or neither":       {URL: fine, TLS: TLSOptions{CertificateFile: certificate}},
		"read TLS.CertificateFile and TLS.K": {URL: fine, TLS: TLSOptions{CertificateFile: certificate, KeyFile: garbage}},
		"TLS is set but URL is plain http":   {URL: "http://third.party", TLS: TLSOptions{ServerName: "a"}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			target, err := New(options)
			require.ErrorContains(t, err, want)
			require.Nil(t, target)
		})
	}
}

// TestAllProblemsAtOnce: nobody should have to start a process three times.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Timeout: -1, ConnectionsMax: -1, TLS: TLSOptions{VersionMin: "2"}})
	require.Equal(t, "httpemitter.Options{URL: invalid}", Options{}.String())
	for _, field := range []string{"URL", "Timeout", "ConnectionsMax", "TLS.VersionMin"} {
		require.ErrorContains(t, err, field)
	}
}
