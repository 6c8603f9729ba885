package config_test

import (
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/config"
)

func section(t *testing.T, text string) (config.Section, error) {
	t.Helper()
	doc, err := config.Parse("f.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Sink config.Section `yaml:"sink"`
	}
	err = doc.Decode(&s)
	return s.Sink, err
}

func TestSection(t *testing.T) {
	t.Run("names a component and keeps its body", func(t *testing.T) {
		s, err := section(t, "sink:\n  file:\n    path: out\n")
		var body struct {
			Path string `yaml:"path"`
		}
		if err != nil || s.Name() != "file" || s.Path() != "sink.file" || s.Line() != 2 || s.IsZero() || s.OneOf("stdout", "file") != nil {
			t.Fatalf("got %q at %q line %d, %v, %v", s.Name(), s.Path(), s.Line(), err, s.OneOf("stdout", "file"))
		}
		if err := s.Decode(&body); err != nil || body.Path != "out" {
			t.Errorf("body %+v, %v", body, err)
		}
	})
	for _, text := range []string{"sink: {stdout: {}}", "sink: {stdout: }", "sink:\n  stdout:\n", "sink: {stdout: null}"} {
		t.Run("needs no body: "+text, func(t *testing.T) {
			s, err := section(t, text)
			body := struct {
				Format string `yaml:"format"`
			}{"default"}
			if err != nil || s.Name() != "stdout" || s.OneOf("stdout") != nil || s.Decode(&body) != nil || body.Format != "default" {
				t.Errorf("got %q, %v, body %+v, %v", s.Name(), err, body, s.Decode(&body))
			}
		})
	}
	t.Run("has a body of any kind", func(t *testing.T) {
		s, err := section(t, "sink: {filter: status >= 500}")
		var text string
		if err != nil || s.Body().Kind() != config.Scalar || s.Decode(&text) != nil || text != "status >= 500" {
			t.Errorf("got %s %q, %v", s.Body().Kind(), text, err)
		}
		s, err = section(t, "sink: {select: [a, b]}")
		var list []string
		if err != nil || s.Body().Kind() != config.List || s.Decode(&list) != nil || len(list) != 2 {
			t.Errorf("got %s %q, %v", s.Body().Kind(), list, err)
		}
	})
	t.Run("without a body of its own still names what is required, where it stands", func(t *testing.T) {
		s, _ := section(t, "a: 1\nsink:\n  file:\n")
		var body struct {
			Path string `yaml:"path,required" example:"out/"`
		}
		if err := s.Decode(&body); err == nil || err.Error() != "f.yaml:3: sink.file.path: required, for example out/" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("that is absent is zero and complains with its path", func(t *testing.T) {
		for _, text := range []string{"{}", "sink:", "sink: null"} {
			s, err := section(t, text)
			if err != nil || !s.IsZero() || s.Name() != "" {
				t.Errorf("%q: got %q, %v", text, s.Name(), err)
			}
			if err := s.OneOf("a", "b"); err == nil || err.Error() != "f.yaml:1: sink: needs one key that names a component: a, b" {
				t.Errorf("%q: got %v", text, err)
			}
		}
	})
	t.Run("of no document does not panic", func(t *testing.T) {
		var s config.Section
		if s.Name() != "" || s.Line() != 0 || s.Path() != "" || !s.IsZero() || s.OneOf("a") == nil || s.Decode(&struct{}{}) == nil || s.Body().Kind() != config.Null {
			t.Error("a zero section is something")
		}
		if err := s.Errorf("x", "bad"); err.Error() != "configuration: x: bad" {
			t.Error(err)
		}
	})
	t.Run("with two names or an unknown one has no body to decode", func(t *testing.T) {
		s, _ := section(t, "sink: {a: {}, b: {}}")
		if s.Name() != "" || s.IsZero() || s.Decode(&struct{}{}) == nil || s.OneOf("a", "b") == nil {
			t.Error("two names passed")
		}
		s, _ = section(t, "sink: {fiel: {}}")
		if err := s.OneOf("stdout", "file"); err == nil || err.Error() != "f.yaml:1: sink.fiel: unknown component, did you mean file?" {
			t.Errorf("got %v", err)
		}
		s, _ = section(t, "sink: {kafka: {}}")
		if err := s.OneOf("stdout", "file"); err == nil || err.Error() != "f.yaml:1: sink.kafka: unknown component; known here: stdout, file" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("gives errors their place and hides secrets in them", func(t *testing.T) {
		s, _ := section(t, "sink:\n  http:\n    url: https://u:${SECRET}@host/\n    headers: [a]\n")
		for _, tc := range []struct{ key, want string }{
			{"url", "f.yaml:3: sink.http.url: no host in https://u:***@host/"},
			{"", "f.yaml:2: sink.http: no host in https://u:***@host/"},
			{"headers[0]", "f.yaml:4: sink.http.headers[0]: no host in https://u:***@host/"},
		} {
			var body struct {
				URL     string   `yaml:"url"`
				Headers []string `yaml:"headers"`
			}
			if err := s.Decode(&body); err != nil {
				t.Fatal(err)
			}
			if err := s.Errorf(tc.key, "no host in %s", body.URL); err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
		}
	})
	t.Run("that is a bare name is refused with what to write", func(t *testing.T) {
		_, err := section(t, "sink: stdout")
		if err == nil || !strings.HasSuffix(err.Error(), "write sink: {stdout: {}}") {
			t.Errorf("got %v", err)
		}
	})
}

func TestValueIsReadLater(t *testing.T) {
	doc, err := config.Parse("f.yaml", []byte("a: 1\nraw:\n  - x\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		A    int          `yaml:"a"`
		Raw  config.Value `yaml:"raw"`
		Gone config.Value `yaml:"gone"`
	}
	var list []string
	if err := doc.Decode(&s); err != nil || s.Raw.Path() != "raw" || s.Raw.Line() != 2 || s.Gone.Kind() != config.Null {
		t.Fatalf("got %+v, %v", s, err)
	}
	if err := s.Raw.Decode(&list); err != nil || len(list) != 1 || list[0] != "x" {
		t.Errorf("got %q, %v", list, err)
	}
	if err := s.Raw.Errorf("[0]", "bad"); err.Error() != "f.yaml:3: raw[0]: bad" {
		t.Error(err)
	}
}
