package dispatch_test

import (
	"testing"

	"github.com/adjourn/adjourn/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
