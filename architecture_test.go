package adjourn

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/adjourn/adjourn/"

// mayImport is the dependency table: what each package of ours may import of
// ours, tests aside. A trailing "/" stands for a package and all below it. A
// package that is not listed here may not exist.
var mayImport = map[string][]string{
	"cmd/adjourn": {"*"},

	// The domains import nothing, so that a rule can be read without its plumbing.
	"config":  {},
	"quota":   {},
	"work":    {},
	"emitter": {},

	"migrations": {},
	"accounting": {"work"},

	// The technologies behind the contracts.
	"quota/postgres":      {"quota"},
	"work/postgres":       {"work", "quota", "quota/postgres"},
	"emitter/httpemitter": {"emitter"},
	"emitter/fileemitter": {"emitter"},
	"emitter/emittertest": {"emitter"},
	"quota/quotatest":     {"quota"},

	// The lanes. Override and exempt never name the quota (G2, A46).
	"activities/internal/attempt":   {"work", "emitter"},
	"activities/internal/failure":   {"work"},
	"activities/internal/heartbeat": {},
	"activities/internal/lanetest":  {"work", "quota", "quota/postgres", "work/postgres", "internal/dbtest"},
	"activities/dispatch":           {"work", "quota", "activities/internal/"},
	"activities/governed":           {"work", "quota", "emitter", "accounting", "activities/internal/"},
	"activities/override":           {"work", "emitter", "accounting", "activities/internal/"},
	"activities/exempt":             {"work", "emitter", "accounting", "activities/internal/"},
	"activities/gate":               {"work", "quota", "activities/internal/"},

	"workflows": {"work", "quota", "emitter", "activities/"},

	"examples/gate": {"workflows", "activities/", "work", "quota", "quota/postgres", "work/postgres", "migrations"},

	"examples":            {},
	"internal/app":        {"*"},
	"internal/playground": {"*"},
	"internal/demo":       {"*"},
	"internal/telemetry":  {"accounting", "activities/", "quota", "work", "emitter"},
	"internal/submission": {"work"},
	"internal/devstack":   {"internal/devstack/"},
	"internal/dbtest":     {"internal/devstack", "migrations"},

	"internal/devstack/filelock":        {},
	"internal/devstack/toolcache":       {"internal/devstack/filelock"},
	"internal/devstack/toolcache/build": {"internal/devstack/toolcache"},
	"internal/devstack/thirdparty":      {"quota"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func goList(t *testing.T, arguments ...string) []goPackage {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var packages []goPackage
	for decoder := json.NewDecoder(output); ; {
		var listed goPackage
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		packages = append(packages, listed)
	}
	require.NoError(t, command.Wait())
	return packages
}

// TestDependenciesPointOneWay holds the table above to the direct imports of
// every package (A66).
func TestDependenciesPointOneWay(t *testing.T) {
	t.Parallel()
	for _, listed := range goList(t, "./...") {
		name, ours := strings.CutPrefix(listed.ImportPath, module)
		if !ours {
			continue // the map itself
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %s is not in the dependency table: add it there with what it may import", name)
			continue
		}
		for _, imported := range listed.Imports {
			inner, ours := strings.CutPrefix(imported, module)
			if ours && !permits(allowed, inner) {
				t.Errorf("%s imports %s; it may import %v", name, inner, allowed)
			}
		}
	}
}

func permits(allowed []string, name string) bool {
	return slices.ContainsFunc(allowed, func(entry string) bool {
		return entry == "*" || entry == name ||
			strings.HasSuffix(entry, "/") && strings.HasPrefix(name+"/", entry)
	})
}

// TestConfigStaysAtTheEdge: the environment is read in one place (section 7 of
// the design: only commands and wiring see it).
func TestConfigStaysAtTheEdge(t *testing.T) {
	t.Parallel()
	for _, listed := range goList(t, "./...") {
		if !slices.Contains(listed.Imports, module+"config") {
			continue
		}
		name := strings.TrimPrefix(listed.ImportPath, module)
		require.Contains(t, []string{"cmd/adjourn", "internal/app", "internal/playground", "internal/demo"}, name,
			"%s imports config", name)
	}
}

// TestUrgentLanesCannotReachTheArbiter: the override path's safety is what it
// cannot do (A44, A46, G2, G6).
func TestUrgentLanesCannotReachTheArbiter(t *testing.T) {
	t.Parallel()
	for _, lane := range []string{"override", "exempt"} {
		for _, listed := range goList(t, "./activities/"+lane) {
			for _, dependency := range listed.Deps {
				require.NotContains(t, dependency, module+"quota", "activities/%s", lane)
				require.NotContains(t, dependency, "pgx", "activities/%s", lane)
			}
		}
	}
}

// TestDecidingNeedsNoTechnology: the domains stand on the standard library, so
// neither metrics nor a driver can take part in a decision (A01, A66).
func TestDecidingNeedsNoTechnology(t *testing.T) {
	t.Parallel()
	for _, listed := range goList(t, "./quota", "./work", "./emitter") {
		for _, dependency := range listed.Deps {
			first, _, _ := strings.Cut(dependency, "/")
			require.False(t, strings.Contains(first, ".") && !strings.HasPrefix(dependency, module),
				"%s depends on %s", listed.ImportPath, dependency)
		}
	}
}
