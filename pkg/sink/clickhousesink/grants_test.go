package clickhousesink_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/sink/clickhousesink"
)

func TestWhatWouldRefuseEveryInsertIsRefusedAtStart(t *testing.T) {
	const grant = "INSERT(`id`, `name`) ON `db`.`events`"
	for name, c := range map[string]struct {
		server  func(*server)
		options func(*clickhousesink.Options)
		reason  failure.Reason // "": it starts
		says    string
	}{
		"a user who only reads": {
			server: func(s *server) { s.readonly = "2" }, reason: failure.Denied, says: "readonly = 2",
		},
		"a user without the grant": {
			server: func(s *server) { s.lacks = []string{grant} }, reason: failure.Denied, says: "lacks the grant INSERT(id, name) ON db.events",
		},
		"a user with the grant for other columns": {
			server:  func(s *server) { s.lacks = []string{grant} },
			options: func(o *clickhousesink.Options) { o.Columns = []string{"id"} },
		},
		"a server that cannot be asked for grants": {
			server: func(s *server) { s.old, s.lacks = true, []string{grant} },
		},
		"a server without the format for defaults": {
			server:  func(s *server) { s.old = true },
			options: func(o *clickhousesink.Options) { o.Defaults = true },
			reason:  failure.Config, says: "use format native",
		},
		"a server with the format for defaults": {
			options: func(o *clickhousesink.Options) { o.Defaults = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, wide()...)
			o := options(s)
			if c.server != nil {
				c.server(s)
			}
			if c.options != nil {
				c.options(&o)
			}
			_, err := clickhousesink.New(t.Context(), o)
			if c.reason != "" {
				expect(t, err, failure.Job, c.reason, "db.events", "ch:8123", c.says)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// The user of one replica may lack what that of others has.
func TestEachReplicaIsAskedForTheGrantOnceItAnswers(t *testing.T) {
	good, bad := newServer(t, wide()...), newServer(t, wide()...)
	bad.lacks = []string{"INSERT(`id`, `name`) ON `db`.`events`"}
	o := options(good)
	o.Shards[0].Replicas = []string{"http://good:8123", "http://bad:8123"}
	hosts := map[string]http.Handler{"good:8123": good, "bad:8123": bad}
	o.Transport = trip{hosts}
	_, err := clickhousesink.New(t.Context(), o)
	expect(t, err, failure.Job, failure.Denied, "bad:8123", "lacks the grant")

	delete(hosts, "bad:8123") // it is away at start
	opened := open(t, o)
	hosts["bad:8123"] = bad
	write(t, opened, block(0, 0, 4))
	expect(t, opened.Write(t.Context(), block(1, 0, 4)), failure.Job, failure.Denied, "bad:8123", "lacks the grant")
	if n := len(bad.all()); n != 0 {
		t.Errorf("%d inserts reached it", n)
	}
	asked := func(sql string) bool { return strings.HasPrefix(sql, "CHECK GRANT") }
	if n := len(slices.DeleteFunc(slices.Clone(good.looks), func(sql string) bool { return !asked(sql) })); n != 2 { // by two sinks
		t.Errorf("the other was asked %d times", n)
	}
}
