package httpemitter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// silent drops what net/http's server says about connections broken on purpose.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func writePEM(t *testing.T, kind string, bytes []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	require.NoError(t, os.WriteFile(name, content, 0o600))
	return name
}

// trusting are TLS options for a third party's own certificate.
func trusting(t *testing.T, party *party) TLSOptions {
	t.Helper()
	return TLSOptions{CAFile: writePEM(t, "CERTIFICATE", party.Certificate().Raw)}
}

// newClientCertificate is self-signed: its own authority.
func newClientCertificate(t *testing.T) (certificate *x509.Certificate, certificateFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "adjourn"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err = x509.ParseCertificate(raw)
	require.NoError(t, err)
	rawKey, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return certificate, writePEM(t, "CERTIFICATE", raw), writePEM(t, "PRIVATE KEY", rawKey)
}
