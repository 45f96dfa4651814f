package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What third parties and submitters wrote cannot drive the operator's terminal.
func TestTable_PrintsNoControlCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é ✓ \"x\"":  "plain é ✓ \"x\"",
		"a\x1b[2Jb":        `a\x1b[2Jb`,
		"a\nb\tc\r":        `a\nb\tc\r`,
		"\u009b31m\u007f":  `\u009b31m\x7f`,
		"\u202egnp.exe":    `\u202egnp.exe`,
		"\x00\xff\"quoted": `\x00\xff"quoted`,
	} {
		var output bytes.Buffer
		rows := table{header: []string{"HEAD"}}
		rows.add(text)
		require.NoError(t, rows.write(&output))
		require.Equal(t, "HEAD\n"+want+"\n", output.String())
	}
}

func TestTable_AlignsColumns(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	rows := table{header: []string{"ID", "FLOW", "STATE"}}
	rows.add("1", "invoice", "pending")
	rows.add("1000", "é", "failed")
	require.NoError(t, rows.write(&output))
	require.Equal(t, "ID    FLOW     STATE\n1     invoice  pending\n1000  é        failed\n", output.String())
}

func TestWriteJSON_EscapesWhatTerminalsObey(t *testing.T) {
	t.Parallel()
	hostile := "a\x1b[2J\u009b31m\u007f<b>é"
	var output bytes.Buffer
	require.NoError(t, writeJSON(&output, map[string]string{"text": hostile}))
	require.NotContains(t, output.String(), "\x1b")
	require.NotContains(t, output.String(), "\u009b")
	require.NotContains(t, output.String(), "\u007f")
	require.Contains(t, output.String(), "<b>é")
	var back map[string]string
	require.NoError(t, json.Unmarshal(output.Bytes(), &back))
	require.Equal(t, hostile, back["text"], "escaping loses nothing")
}

func TestInstant_IsUTC(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("IST", 19800)
	require.Equal(t, "2026-12-01T10:00:00Z", instant(time.Date(2026, 12, 1, 15, 30, 0, 0, zone)))
	require.Equal(t, "-", instant(time.Time{}))
}
