package devstack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/internal/devstack/toolcache"
)

// pretend makes an installation whose server gives that version.
func pretend(t *testing.T, root string, version string) string {
	t.Helper()
	directory := filepath.Join(root, version, "bin")
	require.NoError(t, os.MkdirAll(directory, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), pretendServer(version), 0o755))
	}
	return directory
}

func pretendServer(version string) []byte {
	return fmt.Appendf(nil, "#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
}

func ourselves(t *testing.T) account {
	t.Helper()
	return account{name: "ourselves", uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
}

// TestNewestInstalled compares versions as numbers and passes over what is too
// old or incomplete.
func TestNewestInstalled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pretend(t, root, "9.6.24")
	pretend(t, root, "13.2")
	_, ok := newestInstalled(t.Context(), ourselves(t), []string{root + "/*/bin"})
	require.False(t, ok, "13 is older than the schema needs")
	pretend(t, root, "14.1")
	want := pretend(t, root, "15.3")
	require.NoError(t, os.Remove(filepath.Join(pretend(t, root, "16.1"), "initdb")))
	found, ok := newestInstalled(t.Context(), ourselves(t), []string{root + "/*/bin"})
	require.True(t, ok)
	require.Equal(t, binaries{directory: want, major: 15}, found)
}

// TestOnPathFollowsTheLink: Debian links the server alone into PATH.
func TestOnPathFollowsTheLink(t *testing.T) {
	root := t.TempDir()
	want := pretend(t, root, "17.1")
	linked := filepath.Join(root, "linked")
	require.NoError(t, os.Mkdir(linked, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(want, "postgres"), filepath.Join(linked, "postgres")))
	t.Setenv("PATH", linked+":"+os.Getenv("PATH"))
	found, ok := onPath(t.Context(), ourselves(t))
	require.True(t, ok)
	resolved, err := filepath.EvalSymlinks(want)
	require.NoError(t, err)
	require.Equal(t, binaries{directory: resolved, major: 17}, found)
}

// repository serves one archive the way embedded-postgres is published, and
// counts how often it is asked for it.
func repository(t *testing.T) (url string, fetched *int) {
	t.Helper()
	jar := jarOf(t, map[string][]byte{
		"bin/initdb":   pretendServer("15.13"),
		"bin/postgres": pretendServer("15.13"),
		"bin/pg_ctl":   []byte("#!/bin/sh\nexit 1\n"),
	})
	fetched = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".jar"):
			*fetched++
			_, err := w.Write(jar)
			require.NoError(t, err)
		case strings.HasSuffix(r.URL.Path, ".sha256"):
			_, err := fmt.Fprintf(w, "%x", sha256.Sum256(jar))
			require.NoError(t, err)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, fetched
}

// TestDownload: on a machine without Postgres the programs are fetched once, a
// person is told, and the next start finds them.
func TestDownload(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(toolcache.DirectoryVariable, cache)
	url, fetched := repository(t)
	var said bytes.Buffer
	options := &PostgresOptions{RepositoryURL: url, Progress: &said, Log: t.Output()}
	found, err := downloadBinaries(t.Context(), ourselves(t), options, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "postgres", string(downloadVersion), "bin"), found.directory)
	require.Equal(t, 15, found.major)
	require.Contains(t, said.String(), "no Postgres on this machine: fetching version 15")

	again, err := downloadBinaries(t.Context(), ourselves(t), options, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, found, again)
	require.Equal(t, 1, *fetched)
}

// TestDownloadForAnotherUser unpacks where that user may go, from the archive
// that the closed cache keeps.
func TestDownloadForAnotherUser(t *testing.T) {
	cache, scratch := t.TempDir(), keptDirectory(t)
	require.NoError(t, os.Chmod(cache, 0o700))
	require.NoError(t, os.Chmod(scratch, 0o711))
	t.Setenv(toolcache.DirectoryVariable, cache)
	url, _ := repository(t)
	stranger := account{name: "stranger", uid: 4_000_000_001, gid: 4_000_000_001, borrowed: true}
	found, err := downloadBinaries(t.Context(), stranger,
		&PostgresOptions{RepositoryURL: url, Progress: t.Output(), Log: t.Output()}, scratch)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(scratch, "binaries", "bin"), found.directory)
}

// TestDownloadThatFails says what to do instead, and leaves nothing half done.
func TestDownloadThatFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(toolcache.DirectoryVariable, cache)
	nowhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nowhere.Close)
	_, err := downloadBinaries(t.Context(), ourselves(t),
		&PostgresOptions{RepositoryURL: nowhere.URL, Progress: t.Output(), Log: t.Output()}, t.TempDir())
	require.ErrorIs(t, err, errNoBinaries)
	require.ErrorContains(t, err, "install Postgres 14 or newer, or set DATABASE_URL")
	left, err := os.ReadDir(filepath.Join(cache, "postgres"))
	require.NoError(t, err)
	names := make([]string, len(left))
	for i, entry := range left {
		names[i] = entry.Name()
	}
	require.Equal(t, []string{"lock"}, names)
}

// jarOf packs files as embedded-postgres does: a zip that holds a tar.xz.
func jarOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for name, content := range files {
		require.NoError(t, writer.WriteHeader(&tar.Header{
			Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg,
		}))
		_, err := writer.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	var jar bytes.Buffer
	zipped := zip.NewWriter(&jar)
	entry, err := zipped.Create("postgres-test.txz")
	require.NoError(t, err)
	_, err = entry.Write(storedXZ(archive.Bytes()))
	require.NoError(t, err)
	require.NoError(t, zipped.Close())
	return jar.Bytes()
}

// storedXZ wraps content, at most 64 KiB, in the xz format without compressing
// it: one block of one uncompressed LZMA2 chunk, checked by CRC32.
func storedXZ(content []byte) []byte {
	if len(content) == 0 || len(content) > 1<<16 {
		panic("one uncompressed chunk holds 1 to 65536 bytes")
	}
	checked := func(part []byte) []byte {
		return binary.LittleEndian.AppendUint32(part, crc32.ChecksumIEEE(part))
	}
	padded := func(part []byte) []byte {
		return append(part, make([]byte, (4-len(part)%4)%4)...)
	}
	flags := []byte{0x00, 0x01} // CRC32
	stream := slices.Concat([]byte{0xFD, '7', 'z', 'X', 'Z', 0x00}, flags)
	stream = binary.LittleEndian.AppendUint32(stream, crc32.ChecksumIEEE(flags))

	// Block header: its size in words less one, no optional fields, LZMA2 with one
	// byte of properties (the smallest dictionary that suffices), padding.
	header := checked([]byte{0x02, 0x00, 0x21, 0x01, 0x10, 0x00, 0x00, 0x00})
	last := len(content) - 1
	data := slices.Concat([]byte{0x01, byte(last >> 8), byte(last)}, content, []byte{0x00})
	check := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(content))
	unpadded := len(header) + len(data) + len(check)

	index := []byte{0x00, 0x01}
	index = binary.AppendUvarint(index, uint64(unpadded))
	index = binary.AppendUvarint(index, uint64(len(content)))
	index = checked(padded(index))
	footer := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	footer = append(footer, flags...)
	footer = slices.Concat(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(footer)), footer, []byte("YZ"))
	return slices.Concat(stream, header, padded(data), check, index, footer)
}
