package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// module is this module, whatever program it is built into.
const module = "github.com/spate-go/spate"

// version names the release that was built, or the commit if it is none.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info) + fmt.Sprintf(" (%s, %s/%s)", info.GoVersion, runtime.GOOS, runtime.GOARCH)
}

func versionOf(info *debug.BuildInfo) string {
	if info.Main.Path != module {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v, revision := info.Main.Version, settings["vcs.revision"]
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	if revision == "" || strings.Contains(v, revision[:min(12, len(revision))]) {
		return v
	}
	v += " " + revision[:min(12, len(revision))]
	if settings["vcs.modified"] == "true" {
		v += "+dirty"
	}
	return v
}
