package app

import (
	"runtime/debug"
	"testing"
)

func TestAVersionNamesTheReleaseOrTheCommit(t *testing.T) {
	main := func(v string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module, Version: v}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, c := range []struct {
		says string
		info *debug.BuildInfo
		want string
	}{
		{"a release", main("v1.2.3"), "v1.2.3"},
		{"a release with its commit", main("v1.2.3", commit), "v1.2.3 0123456789ab"},
		{"a version that names the commit", main("v0.0.0-20261129-0123456789ab", commit), "v0.0.0-20261129-0123456789ab"},
		{"a build of a tree", main("(devel)", commit), "devel 0123456789ab"},
		{"a build of a changed tree", main("(devel)", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "devel 0123456789ab+dirty"},
		{"a build that knows nothing", main(""), "devel"},
		{"a program of its own", &debug.BuildInfo{
			Main: debug.Module{Path: "example.com/mine", Version: "v9.9.9"},
			Deps: []*debug.Module{{Path: "other", Version: "v3"}, {Path: module, Version: "v1.2.3"}},
		}, "v1.2.3"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
}
