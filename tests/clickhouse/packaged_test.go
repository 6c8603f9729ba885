package clickhouse_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const serverConfig = `<yandex>
  <logger><level>error</level><console>1</console></logger>
  <listen_host>127.0.0.1</listen_host><http_port>%d</http_port>
  <path>%[2]s/data/</path><tmp_path>%[2]s/tmp/</tmp_path>
  <mark_cache_size>67108864</mark_cache_size>
  <users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
</yandex>`

const serverUsers = `<yandex>
  <profiles><default/></profiles><quotas><default/></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</yandex>`

// packaged starts the server that Debian packages: a real one, of 2018, whose
// code shares nothing with ours or with the engine's wrapper.
func packaged(t *testing.T) engine {
	t.Helper()
	binary, err := exec.LookPath("clickhouse-server")
	if err != nil {
		binary, err = exec.LookPath("/usr/sbin/clickhouse-server")
	}
	if err != nil {
		t.Skip("no server: install Debian's clickhouse-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.xml"), fmt.Sprintf(serverConfig, port, dir))
	write(t, filepath.Join(dir, "users.xml"), serverUsers)
	cmd := exec.Command(binary, "--config-file", filepath.Join(dir, "config.xml"))
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	})
	e := engine{fmt.Sprintf("http://127.0.0.1:%d", port), "default"}
	for range 200 {
		if _, err = e.ask(t.Context(), "SELECT 1"); err == nil {
			return e
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal(err)
	return e
}

func TestAServerOf2018TakesEveryFormatItKnows(t *testing.T) {
	newEngine(t) // the binaries are built where there is one
	e := packaged(t)
	dir := t.TempDir()
	var rows strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&rows, `{"id":%d,"name":"row %d","at":"2026-11-01 00:00:%02d","maybe":%s,"tags":["a","%d"]}`+"\n", i, i, i%60, []string{"null", "1.5"}[i%2], i%7)
	}
	write(t, filepath.Join(dir, "rows.ndjson"), rows.String())
	for _, format := range []string{"rowbinary", "native", "json_each_row"} {
		for _, compression := range []string{"lz4", "gzip", "none"} { // it knows no other
			t.Run(format+", "+compression, func(t *testing.T) {
				e.exec(t, "DROP TABLE IF EXISTS t")
				e.exec(t, "CREATE TABLE t (id UInt64, name String, at DateTime, maybe Nullable(Float64), tags Array(String)) ENGINE = MergeTree PARTITION BY tuple() ORDER BY id")
				run{}.completes(t, e.pipeline(t, dir, "t", ", format: "+format+", compression: "+compression, decode))
				e.wants(t, "SELECT count(), uniqExact(id), countIf(name = concat('row ', toString(id))), sum(maybe), countIf(toSecond(at) = id % 60), countIf(tags[2] = toString(id % 7)) FROM t",
					fmt.Sprintf("%d\t%[1]d\t%[1]d\t%d\t%[1]d\t%[1]d", n, n/2*3/2))
			})
		}
	}
}
