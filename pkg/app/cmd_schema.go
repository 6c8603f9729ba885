package app

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/config"
	"github.com/spate-go/spate/pkg/config/schema"
)

//go:embed keys.txt
var keys string

// described is the pipeline file as the types and the notes in keys.txt describe it.
func described() (config.Type, schema.Notes, error) {
	t, err := config.Describe(Config{})
	if err != nil {
		return t, nil, err
	}
	notes, err := schema.ParseNotes(keys)
	return t, notes, err
}

func schemaCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the pipeline file",
		Long: `Schema prints what a pipeline file may hold as a JSON Schema (draft 2020-12), for
editors that complete and check as one writes. What it cannot say, such as whether
an expression compiles, spate check does.`,
		Example: "  spate schema >pipeline.schema.json",
		Args:    noArgument,
		RunE: func(*cobra.Command, []string) error {
			t, notes, err := described()
			if err != nil {
				return err
			}
			text, err := schema.JSON(t, notes, "Pipeline file of Spate")
			if err != nil {
				return err
			}
			_, err = std.stdout.Write(text)
			return err
		},
	}
}
