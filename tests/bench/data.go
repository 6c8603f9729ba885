package main

import (
	"bufio"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/spate-go/spate/pkg/sample"
)

// The bucket, and its data sets as prefixes.
const bucket = "bench"

var caseNames = []string{"plain", "gz", "zst", "small"}

// dataset is what a complete job over one prefix must have read.
type dataset struct {
	Records int64
	Bytes   int64 // uncompressed
}

// generate writes the data sets under dir once, and returns what they hold.
// The same scale gives the same bytes on every machine. plain, gz and zst hold
// the same records: eight objects of 64 MiB and one of 512 MiB; small holds
// 5,000 objects of 20 KiB.
func generate(dir string, scale float64) (map[string]dataset, error) {
	manifest := filepath.Join(dir, "manifest.json")
	sets := map[string]dataset{}
	if b, err := os.ReadFile(manifest); err == nil {
		return sets, json.Unmarshal(b, &sets)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "generating data in %s, once\n", dir)
	for _, name := range caseNames {
		if err := os.MkdirAll(filepath.Join(dir, bucket, name), 0o755); err != nil {
			return nil, err
		}
	}
	mib := func(n float64) int64 { return max(1, int64(n*scale*(1<<20))) }
	for i := range 9 {
		name, size := fmt.Sprintf("part-%02d.ndjson", i), mib(64)
		if i == 8 {
			name, size = "part-08-big.ndjson", mib(512)
		}
		d, err := writeThrice(filepath.Join(dir, bucket), name, uint64(i), size)
		if err != nil {
			return nil, err
		}
		for _, c := range []string{"plain", "gz", "zst"} {
			sets[c] = sets[c].plus(d)
		}
	}
	for i := range max(1, int(5000*scale)) {
		path := filepath.Join(dir, bucket, "small", fmt.Sprintf("%04d.ndjson", i))
		d, err := writeFile(path, func(w io.Writer) (dataset, error) { return fill(w, 1000+uint64(i), 20<<10) })
		if err != nil {
			return nil, err
		}
		sets["small"] = sets["small"].plus(d)
	}
	b, err := json.Marshal(sets)
	if err != nil {
		return nil, err
	}
	// Last: without it the data is incomplete and made anew.
	return sets, os.WriteFile(manifest, b, 0o644)
}

func (d dataset) plus(o dataset) dataset {
	return dataset{Records: d.Records + o.Records, Bytes: d.Bytes + o.Bytes}
}

// writeThrice writes the same records plain, as gzip and as zstd.
func writeThrice(root, name string, seed uint64, size int64) (dataset, error) {
	return writeFile(filepath.Join(root, "plain", name), func(plain io.Writer) (dataset, error) {
		return writeFile(filepath.Join(root, "gz", name+".gz"), func(gz io.Writer) (dataset, error) {
			return writeFile(filepath.Join(root, "zst", name+".zst"), func(zst io.Writer) (dataset, error) {
				g := gzip.NewWriter(gz)
				z, err := zstd.NewWriter(zst, zstd.WithEncoderConcurrency(1))
				if err != nil {
					return dataset{}, err
				}
				d, err := fill(io.MultiWriter(plain, g, z), seed, size)
				return d, errors.Join(err, g.Close(), z.Close())
			})
		})
	})
}

func writeFile(path string, write func(io.Writer) (dataset, error)) (dataset, error) {
	f, err := os.Create(path)
	if err != nil {
		return dataset{}, err
	}
	sum := md5.New()
	w := bufio.NewWriterSize(f, 1<<20)
	d, err := write(io.MultiWriter(w, sum))
	return d, errors.Join(err, w.Flush(), f.Close(), setETag(path, fmt.Sprintf(`"%x"`, sum.Sum(nil))))
}

// fill writes whole events up to size bytes, at least one.
func fill(w io.Writer, seed uint64, size int64) (dataset, error) {
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seed) * time.Hour)
	n, err := sample.Object{Seed: seed, From: from, Size: size}.Write(w)
	return dataset(n), err
}

// setETag puts an object's ETag where the S3 server looks for it. Without one
// no read would be pinned and no large object cut, as they are on S3.
func setETag(path, etag string) error {
	if err := unix.Setxattr(path, "user.etag", []byte(etag), 0); err != nil {
		return fmt.Errorf("set extended attribute of %s: %w: put -cache on a file system that has them", path, err)
	}
	return nil
}
