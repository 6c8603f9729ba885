package clickhousesink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spate-go/spate/pkg/failure"
)

// dedup is what a replica keeps of tokens: of the table, and of those that its
// materialized views fill.
type dedup struct {
	engine string
	tables []window
	views  int
	token  bool // the server knows tokens
	inView bool // and passes them on to views
}

// window is for how long a table recognises repeats.
type window struct {
	place   place
	engine  string
	blocks  int // 0: it does not
	seconds int // 0: for good
	known   bool
	setting string // that says so; "": there is none
}

func (w window) String() string {
	switch {
	case !w.known:
		return "an unknown number of parts"
	case w.seconds > 0:
		return fmt.Sprintf("the last %d parts, for %d s", w.blocks, w.seconds)
	}
	return fmt.Sprintf("the last %d parts", w.blocks)
}

type tableRow struct {
	Engine string
	Full   string   `json:"engine_full"`
	Create string   `json:"create_table_query"`
	DBs    []string `json:"dependencies_database"`
	Tables []string `json:"dependencies_table"`
}

// lookForWindows follows the table's views to all tables that an insert ends in.
// What the user may not see is an unknown window, not an error.
func (s *Sink) lookForWindows(ctx context.Context, to *replica, f *found) (dedup, error) {
	d := dedup{
		token:  f.known["insert_deduplication_token"],
		inView: f.known["deduplicate_blocks_in_dependent_materialized_views"] && s.o.AsyncInsert != AsyncWait,
	}
	defaults, err := s.defaultWindows(ctx, to)
	if err != nil {
		return d, err
	}
	queue, seen := []place{f.place}, map[place]bool{f.place: true}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		row, err := s.table(ctx, to, p)
		if err != nil {
			return d, err
		}
		if p == f.place {
			d.engine = row.Engine
		}
		if row.Engine == "MaterializedView" {
			d.views++
			if t, ok := s.target(ctx, to, p, row); !ok {
				d.tables = append(d.tables, window{place: p})
			} else if !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		} else {
			d.tables = append(d.tables, windowOf(p, row, defaults))
		}
		for i, name := range row.Tables {
			if v := (place{row.DBs[i], name}); !seen[v] {
				seen[v] = true
				queue = append(queue, v)
			}
		}
	}
	return d, nil
}

// unseen reports whether an error says that the user may not look there.
func unseen(err error) bool {
	e, ok := errors.AsType[*exception](err)
	return ok && e.code != 0 && codes[e.code] != again
}

func (s *Sink) table(ctx context.Context, to *replica, p place) (tableRow, error) {
	rows, err := ask[tableRow](ctx, s, to, "SELECT engine, engine_full, create_table_query, dependencies_database, dependencies_table FROM system.tables WHERE "+p.where())
	if err != nil && !unseen(err) {
		return tableRow{}, err
	}
	if len(rows) == 0 || len(rows[0].DBs) != len(rows[0].Tables) {
		return tableRow{}, nil
	}
	return rows[0], nil
}

const (
	windowPlain      = "non_replicated_deduplication_window"
	windowReplicated = "replicated_deduplication_window"
	windowSeconds    = "replicated_deduplication_window_seconds"
)

func (s *Sink) defaultWindows(ctx context.Context, to *replica) (map[string]int, error) {
	type row struct{ Name, Value string }
	found := map[string]int{}
	for _, table := range []string{"system.merge_tree_settings", "system.replicated_merge_tree_settings"} { // the latter rules where it exists
		rows, err := ask[row](ctx, s, to, "SELECT name, value FROM "+table+" WHERE name IN ("+literals([]string{windowPlain, windowReplicated, windowSeconds})+")")
		if err != nil && !unseen(err) {
			return nil, err
		}
		for _, r := range rows {
			if n, err := strconv.Atoi(r.Value); err == nil {
				found[r.Name] = n
			}
		}
	}
	return found, nil
}

// windowOf reads a table's window off its engine.
func windowOf(p place, row tableRow, defaults map[string]int) window {
	w := window{place: p, engine: row.Engine}
	switch {
	case row.Engine == "" || row.Engine == "Distributed":
		return w
	case !strings.HasSuffix(row.Engine, "MergeTree"):
		w.known = true // and keeps nothing
		return w
	}
	w.setting = windowPlain
	if shared(row.Engine) {
		w.setting = windowReplicated
		w.seconds, _ = settingOf(row.Full, windowSeconds, defaults)
	}
	w.blocks, w.known = settingOf(row.Full, w.setting, defaults)
	return w
}

// shared reports whether a table of the engine is the same on all replicas.
func shared(engine string) bool {
	return strings.HasPrefix(engine, "Replicated") || strings.HasPrefix(engine, "Shared")
}

// settingOf is a setting of a table: its own, or the server's.
func settingOf(engine, name string, defaults map[string]int) (int, bool) {
	if _, settings, ok := strings.Cut(engine, "SETTINGS "); ok {
		for part := range strings.SplitSeq(settings, ",") {
			k, v, _ := strings.Cut(part, "=")
			if n, err := strconv.Atoi(strings.Trim(strings.TrimSpace(v), "'")); err == nil && strings.TrimSpace(k) == name {
				return n, true
			}
		}
	}
	n, ok := defaults[name]
	return n, ok
}

const word = "(?:`(?:[^`\\\\]|\\\\.)+`|[A-Za-z_][A-Za-z0-9_]*)"

var target = regexp.MustCompile(`^CREATE MATERIALIZED VIEW [^(]*? TO (` + word + `)(?:\.(` + word + `))?`)

// target is the table that a view fills: the one that it names, or one of its
// own.
func (s *Sink) target(ctx context.Context, to *replica, view place, row tableRow) (place, bool) {
	if m := target.FindStringSubmatch(row.Create); m != nil {
		if m[2] == "" {
			return place{view.database, unquote(m[1])}, true
		}
		return place{unquote(m[1]), unquote(m[2])}, true
	}
	type name struct{ DB, Name string }
	for _, sql := range []string{ // the newest way first; servers refuse what they do not know
		"SELECT target_database AS db, target_table AS name FROM system.tables WHERE " + view.where() + " AND target_table != ''",
		"SELECT concat('.inner_id.', toString(uuid)) AS name FROM system.tables WHERE " + view.where() + " AND toString(uuid) != '00000000-0000-0000-0000-000000000000'",
		"SELECT name FROM system.tables WHERE " + place{view.database, ".inner." + view.table}.where(),
	} {
		if rows, err := ask[name](ctx, s, to, sql); err == nil && len(rows) == 1 {
			return place{cmp.Or(rows[0].DB, view.database), rows[0].Name}, true
		}
	}
	return place{}, false
}

func unquote(name string) string {
	inner, ok := strings.CutPrefix(name, "`")
	if !ok {
		return name
	}
	return strings.NewReplacer("\\\\", "\\", "\\`", "`").Replace(strings.TrimSuffix(inner, "`"))
}

// divisible reports whether an insert that a view refused has stored nothing: the
// table itself keeps no rows, and there is one view alone.
func (d dedup) divisible() bool { return d.engine == "Null" && d.views == 1 }

// judge says what a replica makes of repeats, and refuses it where that has to be
// more.
func (s *Sink) judge(r *replica, f *found) error {
	d := f.dedup
	switch d.engine {
	case "Buffer":
		return failure.Errorf(failure.Job, failure.Config,
			"look at %s at %s: its engine is Buffer, which acks rows that it holds in memory: write to the table behind it", s.place, r.name)
	case "Memory":
		s.warn("%s is of engine Memory: its rows are gone when the server stops", s.place)
	case "Distributed":
		s.note("%s is of engine Distributed: deduplication depends on the tables behind it", s.place)
	}
	if s.o.Dedup == DedupOff {
		return nil
	}
	if !d.token {
		return s.lacks(r, "the server, %s, does not support deduplication tokens: upgrade it", f.version)
	}
	if strings.HasSuffix(d.engine, "MergeTree") && !shared(d.engine) && !r.alone {
		if err := s.lacks(r, "%s is of engine %s, which shares neither rows nor deduplication with other replicas: use a replicated engine, or name one replica", s.place, d.engine); err != nil {
			return err
		}
	}
	for _, w := range d.tables {
		view := w.place != f.place
		switch {
		case w.known && w.blocks > 0 && view && !d.inView:
			why := "the server, " + f.version + ", passes it no tokens: upgrade it"
			if s.o.AsyncInsert == AsyncWait {
				why = "with async_insert: wait it gets no tokens: leave that out"
			}
			if err := s.lacks(r, "%s, which a materialized view fills, does not deduplicate: %s", w.place, why); err != nil {
				return err
			}
		case w.known && w.blocks > 0:
			s.note("%s deduplicates %s: an insert makes one for each partition it has rows for", w.place, w)
		case w.engine == "Null" || w.engine == "Distributed":
		case !w.known:
			s.warn("whether %s deduplicates cannot be seen: grant SELECT on it to the user", w.place)
		case w.setting == "":
			if err := s.lacks(r, "%s is of engine %s, which does not deduplicate: use a MergeTree", w.place, w.engine); err != nil {
				return err
			}
		default:
			if err := s.lacks(r, "%s does not deduplicate, so a retried block is stored twice: ALTER TABLE %s MODIFY SETTING %s = 10000",
				w.place, w.place.quoted(), w.setting); err != nil {
				return err
			}
		}
	}
	return nil
}

// lacks refuses a table, or says what it lacks, as the options want it.
func (s *Sink) lacks(r *replica, format string, args ...any) error {
	if s.o.Dedup != DedupRequired {
		s.warn(format, args...)
		return nil
	}
	return failure.Errorf(failure.Job, failure.Config, "look at %s at %s: deduplication is required: %w", s.place, r.name, fmt.Errorf(format, args...))
}
