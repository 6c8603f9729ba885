package lambdakit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// LogLines are the lines of a log group at an endpoint, in their order. There is
// no client for logs among what the project depends on, so the call is made by
// hand.
func LogLines(ctx context.Context, cfg aws.Config, endpoint, group string) (lines []string, err error) {
	for next := ""; ; {
		ask := map[string]string{"logGroupName": group}
		if next != "" {
			ask["nextToken"] = next
		}
		var page struct {
			Events    []struct{ Message string }
			NextToken string
		}
		err := askLogs(ctx, cfg, endpoint, ask, &page)
		for again := 2; err != nil && again > 0; again-- { // as the SDK would: an answer may be lost
			err = askLogs(ctx, cfg, endpoint, ask, &page)
		}
		if err != nil {
			return nil, fmt.Errorf("read log group %s: %w", group, err)
		}
		for _, e := range page.Events {
			lines = append(lines, strings.TrimSpace(e.Message))
		}
		if next = page.NextToken; next == "" {
			return lines, nil
		}
	}
}

func askLogs(ctx context.Context, cfg aws.Config, endpoint string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Amz-Target", "Logs_20140328.FilterLogEvents")
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	sum := sha256.Sum256(body)
	who, err := cfg.Credentials.Retrieve(ctx)
	if err == nil {
		err = v4.NewSigner().SignHTTP(ctx, who, r, hex.EncodeToString(sum[:]), "logs", cfg.Region, time.Now())
	}
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}
