package awscontrol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spate-go/spate/pkg/control"
	"github.com/spate-go/spate/pkg/failure/awsfailure"
	"github.com/spate-go/spate/pkg/finalizer"
	"github.com/spate-go/spate/pkg/report"
	"github.com/spate-go/spate/pkg/s3url"
)

// ReportAPI is the part of *s3.Client that Reports calls.
type ReportAPI interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// Reports keeps the reports under a prefix of a bucket.
type Reports struct {
	api            ReportAPI
	bucket, prefix string
}

var (
	_ control.Reports   = (*Reports)(nil)
	_ finalizer.Reports = (*Reports)(nil)
)

// NewReports returns the reports under url, s3://bucket/prefix/.
func NewReports(api ReportAPI, url string) (*Reports, error) {
	to, err := s3url.ParseDir(url)
	if err != nil {
		return nil, fmt.Errorf("report URL %w", err)
	}
	return &Reports{api, to.Bucket, to.Prefix}, nil
}

// Put implements [finalizer.Reports].
func (r *Reports) Put(ctx context.Context, name string, body []byte) error {
	key := r.prefix + name
	_, err := r.api.PutObject(ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: &key, Body: bytes.NewReader(body)})
	return awsfailure.Classify(ctx, err, fmt.Sprintf("put \"s3://%s/%s\"", r.bucket, key), nil)
}

// Report implements [control.Reports].
func (r *Reports) Report(ctx context.Context, job string, run, generation int) (*report.Report, error) {
	key := r.prefix + report.Key(job, run, generation)
	call := fmt.Sprintf("get \"s3://%s/%s\"", r.bucket, key)
	text, err := r.read(ctx, key)
	if a, ok := awsfailure.AnswerOf(err); ok && a.Status == http.StatusNotFound && a.Code != "NoSuchBucket" {
		return nil, fmt.Errorf("%s: %w", call, control.ErrNoReport)
	}
	if err != nil {
		return nil, awsfailure.Classify(ctx, err, call, nil)
	}
	rep := new(report.Report)
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, fmt.Errorf("%s: %w", call, err)
	}
	return rep, nil
}

// read returns the content of an object. A body that breaks off is read again:
// the SDK repeats a call only up to its headers.
func (r *Reports) read(ctx context.Context, key string) ([]byte, error) {
	const tries = 3 // as many as the SDK makes
	for n := 1; ; n++ {
		out, err := r.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &r.bucket, Key: &key})
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(out.Body)
		_ = out.Body.Close() // it was read
		if err == nil || n == tries || ctx.Err() != nil {
			return text, err
		}
	}
}
