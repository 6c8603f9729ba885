package live_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spate-go/spate/pkg/app"
)

func load(t *testing.T) (app.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(path, []byte(pipeline), 0o600); err != nil {
		return app.Config{}, err
	}
	return app.Load(path, nil, func(string) (string, bool) { return "", false })
}
