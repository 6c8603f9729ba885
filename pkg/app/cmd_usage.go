package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpful puts what root says about a wrong command line on one line, which
// ends with the next step.
func helpful(root *cobra.Command) {
	root.SuggestionsMinimumDistance = 2
	root.DisableSuggestions = true // they take lines of their own: see unknown
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// What follows is a parser's own account, which names functions of Go.
		text, _, _ := strings.Cut(err.Error(), ": strconv.")
		text, _, _ = strings.Cut(text, ": slog: ")
		return fmt.Errorf("%s: see %s --help", text, c.CommandPath())
	})
}

// unknown is the error for a command line that names no command of root; nil if
// it names one. The library takes some of these for a request for help.
func unknown(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil // how shells ask; it is there only once it is asked for
	}
	c, rest, err := root.Find(args)
	switch {
	case len(rest) == 0 || strings.HasPrefix(rest[0], "-"):
		return nil
	case c.Name() == "help":
		return unknown(root, rest)
	case err == nil && (c.Runnable() || c == root):
		return nil
	}
	near := ""
	if names := c.SuggestionsFor(rest[0]); len(names) > 0 {
		near = fmt.Sprintf(" (did you mean %s?)", strings.Join(names, " or "))
	}
	return fmt.Errorf("unknown command %q%s: see %s --help", rest[0], near, c.CommandPath())
}

// onePipeline requires one argument, a pipeline file.
func onePipeline(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("%s takes one argument, the pipeline file, got %d: see %[1]s --help", c.CommandPath(), len(args))
}

// completePipeline completes the argument that onePipeline requires.
func completePipeline(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFlag completes c's flag with its choices. The flag has to exist.
func completeFlag(c *cobra.Command, flag string, choices ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}
