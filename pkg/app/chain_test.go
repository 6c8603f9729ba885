package app_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/app"
)

var updateChain = flag.Bool("update-chain", false, "rewrite the .err files of chains and sinks")

func TestWhatIsWrongWithChainsAndSinksIsSaidWhereItStands(t *testing.T) {
	files, err := filepath.Glob("testdata/chain/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			_, err := app.Load(file, nil, func(string) (string, bool) { return "", false })
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(err.Error(), "testdata/chain/", "") + "\n"
			golden := strings.TrimSuffix(file, ".yaml") + ".err"
			if *updateChain {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// twoSinks are over files in dir, second refused if it is there.
func twoSinks(t *testing.T, dir string) app.Config {
	t.Helper()
	src := t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "a"), []byte("{\"n\":1}\n{\"n\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return app.Config{
		Pipeline: app.PipelineConfig{Name: "p"},
		Source:   app.SourceConfig{S3: &app.S3Config{URL: "file://" + src}},
		Feed:     &app.FeedConfig{Memory: &app.MemoryFeedConfig{}},
		Decode:   &app.DecodeConfig{JSON: &app.JSONConfig{}},
		Sinks: map[string]app.SinkConfig{
			"a": {File: &app.FileSinkConfig{Path: filepath.Join(dir, "a")}},
			"b": {File: &app.FileSinkConfig{Path: filepath.Join(dir, "b")}},
		},
	}
}

func TestRowsGoToEverySinkUnlessARouteSaysWhere(t *testing.T) {
	for name, c := range map[string]struct {
		chain  []app.StepConfig
		decode *app.DecodeConfig
		a, b   string
	}{
		"raw":         {nil, nil, "{\"n\":1}\n{\"n\":2}\n", "{\"n\":1}\n{\"n\":2}\n"},
		"decoded":     {nil, &app.DecodeConfig{JSON: &app.JSONConfig{}}, "{\"n\":1}\n{\"n\":2}\n", "{\"n\":1}\n{\"n\":2}\n"},
		"with routes": {[]app.StepConfig{{Route: []app.RouteConfig{{To: "b", When: "n == 1"}, {To: "a"}}}}, nil, "{\"n\":2}\n", "{\"n\":1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := twoSinks(t, dir)
			cfg.Chain, cfg.Decode = c.chain, c.decode
			r, err := app.Run(context.Background(), cfg, app.Pipeline{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Records.Out != 2 || len(r.Sinks) != 2 {
				t.Errorf("report %+v %+v", r.Records, r.Sinks)
			}
			for file, want := range map[string]string{"a": c.a, "b": c.b} {
				if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
					t.Errorf("%s: got %q, want %q, %v", file, got, want, err)
				}
			}
		})
	}
}

func TestNoSinkIsOpenedWhenOneCannotBe(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, c *app.Config, dir string){
		"one that exists": func(t *testing.T, _ *app.Config, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "b"), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"one inside the source": func(_ *testing.T, c *app.Config, _ string) {
			c.Sinks["b"] = app.SinkConfig{File: &app.FileSinkConfig{Path: filepath.Join(strings.TrimPrefix(c.Source.S3.URL, "file://"), "b")}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := twoSinks(t, dir)
			spoil(t, &c, dir)
			_, err := app.Open(t.Context(), c, app.Pipeline{}, app.Options{})
			if err == nil || !strings.Contains(err.Error(), "sinks.b") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
				t.Error("the other sink was made all the same")
			}
		})
	}
}
