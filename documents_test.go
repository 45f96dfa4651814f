package adjourn

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFailureDirectionsNameTests: every edge names a test, and each named test is
// there (A59).
func TestFailureDirectionsNameTests(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("docs/failure-directions.md")
	require.NoError(t, err)
	defined := definedTests(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	edges := 0
	for line := range strings.Lines(string(document)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| edge ") {
			continue
		}
		edges++
		names := named.FindAllStringSubmatch(line, -1)
		require.NotEmpty(t, names, "no test breaks this edge: %s", line)
		for _, name := range names {
			require.Contains(t, defined, name[1], line)
		}
	}
	require.GreaterOrEqual(t, edges, 20)
}

// TestDocumentsNameFiles: every file of the project that a document links to or
// names in the map is there.
func TestDocumentsNameFiles(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile(`\]\(([^):#]+)\)`)
	places := regexp.MustCompile(`(?m)^//\t.* {2,}((?:[a-z]+/)[a-z/_.-]+)`)
	for document, pattern := range map[string]*regexp.Regexp{"README.md": links, "doc.go": places} {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		found := pattern.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found, document)
		for _, link := range found {
			_, err := os.Stat(link[1])
			require.NoError(t, err, "%s names %s", document, link[1])
		}
	}
}

func definedTests(t *testing.T) map[string]bool {
	t.Helper()
	definition := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	defined := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != "." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range definition.FindAllStringSubmatch(string(text), -1) {
			defined[name[1]] = true
		}
		return nil
	})
	require.NoError(t, err)
	return defined
}
