package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/spate-go/spate/pkg/inspect"
	"github.com/spate-go/spate/pkg/object"
	"github.com/spate-go/spate/pkg/object/dirobject"
	"github.com/spate-go/spate/pkg/object/s3object"
	"github.com/spate-go/spate/pkg/unit"
)

// inspectFlags are the flags of spate inspect.
type inspectFlags struct {
	records int
	ddl     bool
	table   string
	as      form
}

func inspectCommand(std stdio) *cobra.Command {
	var f inspectFlags
	c := &cobra.Command{
		Use:   "inspect URL...",
		Short: "Show what an object is: label against content, and its first records",
		Long: `Inspect reads the beginning of objects, each at one version, and says how they are
compressed, how their records lie, and whether that is what their names and metadata
promise. A URL is of the form s3://bucket/key or file:///path.

With --ddl it prints instead a CREATE TABLE statement for ClickHouse, for the JSON
records it saw in all of the objects.

Exit codes: 0 every object was looked at, whatever was found; 1 one could not be
opened; 2 the command line is wrong; 130 interrupted.`,
		Example: "  spate inspect s3://bucket/2026/11/part-0.json.gz\n  spate inspect file:///var/log/app.log -o json\n  spate inspect s3://bucket/2026/11/part-0.json.gz --ddl >table.sql",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fmt.Errorf("%s takes the URLs of objects, got none: see %[1]s --help", c.CommandPath())
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.records < 1 {
				return fmt.Errorf("--records: %d is less than 1", f.records)
			}
			if f.table != "" && !f.ddl {
				return errors.New("--table names the table of --ddl: give --ddl too")
			}
			if f.ddl {
				return suggestTable(c.Context(), args, f, std)
			}
			return inspectAll(c.Context(), args, f, std)
		},
	}
	c.Flags().IntVar(&f.records, "records", 3, "show the first `N` records")
	c.Flags().BoolVar(&f.ddl, "ddl", false, "print a CREATE TABLE statement for ClickHouse")
	c.Flags().StringVar(&f.table, "table", "", "with --ddl: the table's `NAME`; left out, it is made of the key")
	formFlag(c, &f.as)
	c.MarkFlagsMutuallyExclusive("ddl", "output")
	return c
}

// inspected is what spate inspect prints of an object.
type inspected struct {
	URL string `json:"url"`
	*inspect.Finding
	Error string `json:"error,omitempty"`
}

// objectURL splits the URL of one object into its bucket, or directory, and key.
func objectURL(url string) (l location, key string, err error) {
	scheme, rest, _ := strings.Cut(url, "://")
	switch scheme {
	case "file":
		rest = filepath.Clean(rest)
		l, key = location{dir: filepath.Dir(rest)}, filepath.Base(rest)
	case "s3":
		l.Bucket, key, _ = strings.Cut(rest, "/")
	}
	switch {
	case l.dir+l.Bucket == "":
		return l, "", fmt.Errorf("%q is neither s3://bucket/key nor file:///path", url)
	case key == "" || strings.HasSuffix(url, "/"):
		return l, "", fmt.Errorf("%q is a prefix, and inspect takes objects: name one or more", url)
	}
	return l, key, nil
}

// inspectAll is spate inspect. An object that cannot be read does not keep it
// from the next.
func inspectAll(ctx context.Context, urls []string, f inspectFlags, std stdio) error {
	for _, url := range urls {
		if _, _, err := objectURL(url); err != nil {
			return err
		}
	}
	all, failed := make([]inspected, 0, len(urls)), 0
	for _, url := range urls {
		found, err := inspectOne(ctx, url, inspect.Options{Records: f.records})
		if ctx.Err() != nil {
			return &exitError{errors.New("inspect was interrupted"), exitInterrupted}
		}
		i := inspected{URL: url, Finding: found}
		if err != nil {
			failed++
			i.Error, i.Finding = err.Error(), nil
		}
		all = append(all, i)
	}
	if err := printInspected(std.stdout, all, f.as); err != nil {
		return &exitError{err, exitIncomplete}
	}
	switch {
	case failed > 0 && len(urls) == 1:
		return &exitError{errors.New(all[0].Error), exitIncomplete}
	case failed > 0:
		return &exitError{fmt.Errorf("%d of %d objects could not be read", failed, len(urls)), exitIncomplete}
	}
	return nil
}

func inspectOne(ctx context.Context, url string, opt inspect.Options) (*inspect.Finding, error) {
	l, key, err := objectURL(url)
	if err != nil {
		return nil, err
	}
	var b object.Opener
	var o unit.Object
	var m inspect.Metadata
	if l.dir != "" {
		dir, err := dirobject.Open(l.dir)
		if err != nil {
			return nil, err
		}
		if o, err = dir.Head(key); err != nil {
			return nil, err
		}
		b = dir
	} else {
		client, err := s3object.NewClient(ctx, s3object.ClientOptions{})
		if err != nil {
			return nil, err
		}
		h, err := s3object.Head(ctx, client, l.Bucket, key, s3object.Options{})
		if err != nil {
			return nil, err
		}
		o, m = h.Object, inspect.Metadata{ContentType: h.ContentType, ContentEncoding: h.ContentEncoding, StorageClass: h.StorageClass}
		b = s3object.New(client, l.Bucket, "", s3object.Options{})
	}
	return inspect.Object(ctx, b, o, m, opt)
}

func printInspected(w io.Writer, all []inspected, as form) error {
	if as == asJSON {
		return writeJSON(w, all)
	}
	b := bufio.NewWriter(w)
	for i, o := range all {
		if o.Finding == nil && len(all) == 1 {
			break // the error says it
		}
		if i > 0 {
			fmt.Fprintln(b)
		}
		o.text(b)
	}
	return b.Flush()
}

func (o *inspected) text(b *bufio.Writer) {
	fmt.Fprintln(b, o.URL)
	f := o.Finding
	if f == nil {
		fmt.Fprintf(b, "  failed    %s\n", o.Error)
		return
	}
	fmt.Fprintf(b, "  size      %s (%s bytes)\n", humanize.IBytes(uint64(f.Size)), humanize.Comma(f.Size))
	version := ""
	if f.Version != "" {
		version = ", version " + f.Version
	}
	if f.StorageClass != "" {
		version += ", " + f.StorageClass
	}
	fmt.Fprintf(b, "  pinned    ETag %s%s, modified %s\n", f.ETag, version, f.LastModified.UTC().Format(time.RFC3339))
	fmt.Fprintf(b, "  label     %s\n", said(f.Label))
	fmt.Fprintf(b, "  content   %s\n", said(f.Content))
	for _, m := range f.Mismatches {
		fmt.Fprintf(b, "  MISMATCH  %s\n", m)
	}
	if f.Problem != "" {
		fmt.Fprintf(b, "  problem   %s\n", f.Problem)
	}
	for i, r := range f.Records {
		fmt.Fprintf(b, "  record %d  %s\n", i, r)
	}
}

func said(d inspect.Description) string {
	unknown := func(s string) string {
		if s == "" {
			return "unknown"
		}
		return s
	}
	return fmt.Sprintf("compression %s, format %s", unknown(d.Compression), unknown(d.Format))
}
