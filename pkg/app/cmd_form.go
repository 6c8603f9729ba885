package app

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/config"
)

// form is how a command shows what it found: for people or for programs.
type form string

const (
	asText form = "text"
	asJSON form = "json"
)

func (f *form) String() string { return string(*f) }

// Set takes one of the forms.
func (f *form) Set(s string) error {
	if s != string(asText) && s != string(asJSON) {
		return errors.New("neither text nor json")
	}
	*f = form(s)
	return nil
}

// Type is how help names the value.
func (f *form) Type() string { return "FORMAT" }

// formFlag gives c the flag -o.
func formFlag(c *cobra.Command, f *form) {
	*f = asText
	c.Flags().VarP(f, "output", "o", "`FORMAT` of the output: text or json")
	completeFlag(c, "output", string(asText), string(asJSON))
}

// setFlag gives c the flag --set of a pipeline file.
func setFlag(c *cobra.Command, sets *[]string) {
	c.Flags().StringArrayVar(sets, "set", nil, "override a key of the pipeline file, as `path=value`; repeatable")
}

// sizeFlag is a size as the pipeline file writes it.
type sizeFlag config.Size

func (s *sizeFlag) String() string { return config.Size(*s).String() }

// Set reads a size.
func (s *sizeFlag) Set(text string) error {
	return (*config.Size)(s).UnmarshalText([]byte(text))
}

// Type is how help names the value.
func (s *sizeFlag) Type() string { return "SIZE" }
