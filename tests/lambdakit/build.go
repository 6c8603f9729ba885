package lambdakit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds programs of this module, by their paths in it, into dir under
// their last names.
func Build(dir string, programs ...string) error {
	for _, p := range programs {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, filepath.Base(p)), "github.com/spate-go/spate/"+p)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}
