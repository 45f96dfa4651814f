package httpemitter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
)

const (
	credential = "s3cr3t-t0k3n"
	bearer     = Secret("Bearer " + credential)
)

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%f", "%T"}

// TestNothingPrintsTheSecret, whatever is printed and however.
func TestNothingPrintsTheSecret(t *testing.T) {
	t.Parallel()
	options := Options{URL: "https://third.party/works?key=" + credential, Authorization: bearer}
	target := newTarget(t, options)
	hexed := fmt.Sprintf("%x", credential)
	for _, verb := range verbs {
		for _, value := range []any{bearer, options, &options, target, struct{ Inner Options }{options}} {
			text := fmt.Sprintf(verb, value)
			require.NotContains(t, text, credential, "%s of %T", verb, value)
			require.NotContains(t, strings.ToLower(text), hexed, "%s of %T", verb, value)
		}
	}
	encoded, err := json.Marshal(struct{ Authorization Secret }{bearer})
	require.NoError(t, err)
	require.JSONEq(t, `{"Authorization":"[redacted]"}`, string(encoded))
	require.Equal(t, "[redacted]", bearer.String())
	require.Empty(t, Secret("").String())
	require.Equal(t, `httpemitter.Options{URL: https://third.party/works, Authorization: [redacted]}`, options.String())
	require.Equal(t, "httpemitter to https://third.party/works", fmt.Sprint(target))
}

// TestEchoedSecretsAreTakenOut of everything that is kept of an answer.
func TestEchoedSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, secret := range []Secret{bearer, credential} {
		for name, raw := range map[string]string{
			"Body":       "HTTP/1.1 400 Bad\r\n\r\nyou sent Authorization: " + string(secret),
			"Credential": "HTTP/1.1 400 Bad\r\n\r\nunknown token " + credential,
			"AtTheCut":   "HTTP/1.1 400 Bad\r\n\r\n" + strings.Repeat("x", emitter.AnswerBytesMax-5) + credential,
			"Reference":  "HTTP/1.1 200 OK\r\n\r\n{\"reference\":\"" + string(secret) + "\"}",
			"Location":   "HTTP/1.1 201 OK\r\nLocation: /" + string(secret) + "\r\nContent-Length: 0\r\n\r\n",
			"Malformed":  string(secret) + "\r\n\r\n",
			"Phrase":     "HTTP/1.1 400 " + string(secret) + "\r\n\r\n",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				party := newWire(t, answering(raw))
				outcome := emit(t, newTarget(t, Options{URL: party.URL, Authorization: secret}), 1)
				kept := fmt.Sprintf("%+v", outcome)
				require.NotContains(t, kept, credential)
				require.NotContains(t, kept, credential[:5])
				require.Equal(t, string(secret), party.all()[0].Header.Get("Authorization"))
			})
		}
	}
}

// TestShortCredentialsDoNotMangle: "Basic a" must not take every a out.
func TestShortCredentialsDoNotMangle(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a banana, [redacted]", Secret("Basic a").redactor()("a banana, Basic a"))
	require.Equal(t, "as it is", Secret("").redactor()("as it is"))
}

// TestRefusedOptionsKeepSecrets: an error is logged.
func TestRefusedOptionsKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{
		{URL: "https://user:" + credential + "@third.party"},
		{URL: "https://user:" + credential + "@third.party:port"},
		{URL: "https://third.party/?key=" + credential + "#fragment"},
		{URL: "ftp://third.party/?key=" + credential},
		{URL: "https://third.party", Authorization: Secret(credential + "\n")},
		{URL: "https://third.party", Authorization: Secret(strings.Repeat(credential, 1000))},
	} {
		_, err := New(options)
		require.Error(t, err)
		require.NotContains(t, err.Error(), credential)
	}
	_, err := newEmitter(Options{URL: "https://third.party"}, func(*http.Request) (*url.URL, error) {
		return nil, errors.New("invalid proxy address " + credential)
	})
	require.ErrorContains(t, err, "HTTPS_PROXY")
	require.NotContains(t, err.Error(), credential)
}
